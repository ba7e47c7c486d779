import TandemDifferences
import Testing

@Suite("MergeError")
struct MergeErrorTests {
  /// Every sequence of up to `length` of the numbers 1 to `count`, repetitions included.
  static func sequences(of count: Int, length: Int) -> [[Int]] {
    var all: [[Int]] = [[]]
    var longest = all
    for _ in 0..<length {
      longest = longest.flatMap { head in (1...count).map { head + [$0] } }
      all += longest
    }
    return all
  }

  static func items(_ ids: [Int]) -> [MergeItem] {
    ids.enumerated().map { MergeItem($1, $0 % 2) }
  }

  func expected(
    _ sides: [(MergeError.Side, [Int])], _ first: ([Int]) -> (Int, IdentityViolation.Kind)?
  ) -> MergeError? {
    for (side, ids) in sides {
      if let (offset, kind) = first(ids) {
        return .identity(side: side, offset: offset, kind: kind)
      }
    }
    return nil
  }

  func failure(_ body: () throws -> Void) -> MergeError? {
    do {
      try body()
      return nil
    } catch {
      return error as? MergeError
    }
  }

  /// Every three versions of up to three of three identities.
  func forEachThreeSequences(_ body: ([Int], [Int], [Int]) throws -> Void) rethrows {
    let sequences = Self.sequences(of: 3, length: 3)
    for base in sequences {
      for local in sequences {
        for remote in sequences { try body(base, local, remote) }
      }
    }
  }

  @Test("in any order, a repeated identity is found on every side, and nothing else is refused")
  func duplicates() throws {
    try forEachThreeSequences { base, local, remote in
      let error = failure {
        _ = try ThreeWayMerge(
          base: .known(Self.items(base)), local: Self.items(local), remote: Self.items(remote))
      }
      let expected = expected([(.base, base), (.local, local), (.remote, remote)]) { ids in
        ids.indices.first { ids[..<$0].contains(ids[$0]) }.map { ($0, .duplicate) }
      }
      try #require(error == expected, "\(base) \(local) \(remote)")
    }
  }

  @Test("sorted, every side that does not ascend is found, and nothing else is refused")
  func descending() throws {
    try forEachThreeSequences { base, local, remote in
      let error = failure {
        _ = try ThreeWayMerge(
          base: .known(Self.items(base)), local: Self.items(local), remote: Self.items(remote),
          sortedBy: \.id)
      }
      let expected = expected([(.base, base), (.local, local), (.remote, remote)]) { ids in
        ids.indices.dropFirst().first { ids[$0] <= ids[$0 - 1] }
          .map { ($0, ids[$0] == ids[$0 - 1] ? .duplicate : .descending) }
      }
      try #require(error == expected, "\(base) \(local) \(remote)")
    }
  }

  @Test("an identity that is not a number is refused on whichever side it is")
  func incomparable() throws {
    struct Sample: Equatable {
      var time: Double
    }
    let good = [Sample(time: 1), Sample(time: 2)]
    for bad in [[Sample(time: .nan)], [Sample(time: 1), Sample(time: .nan)]] {
      let offset = bad.count - 1
      for (side, versions) in [
        (MergeError.Side.base, [bad, good, good]), (.local, [good, bad, good]),
        (.remote, [good, good, bad]), (.base, [bad, bad, bad]),
      ] {
        let expected = MergeError.identity(side: side, offset: offset, kind: .incomparable)
        #expect(throws: expected) {
          try ThreeWayMerge(
            base: .known(versions[0]), local: versions[1], remote: versions[2], sortedBy: \.time)
        }
        #expect(throws: expected) {
          try ThreeWayMerge(
            base: .known(versions[0]), local: versions[1], remote: versions[2],
            identifiedBy: \.time)
        }
      }
    }
  }

  @Test("an answer of another identity is refused, and names its conflict")
  func changedIdentity() throws {
    let base = [MergeItem(1, 0), MergeItem(2, 0)]
    let local = [MergeItem(1, 1), MergeItem(2, 1)]
    let remote = [MergeItem(1, 2), MergeItem(2, 2)]
    let policy = MergePolicy<MergeItem> { .merged(MergeItem(1, $0.local?.value ?? 0)) }
    #expect(throws: MergeError.changedIdentity(conflict: 1)) {
      try ThreeWayMerge(base: .known(base), local: local, remote: remote, policy: policy)
    }
  }

  @Test("a resolver's error ends the merge, as does cancellation before it is asked")
  func resolver() async throws {
    struct Refusal: Error {}
    let (local, remote) = ([MergeItem(1, 1)], [MergeItem(1, 2)])
    await #expect(throws: Refusal.self) {
      try await ThreeWayMerge(base: .unknown, local: local, remote: remote) { _ in
        throw Refusal()
      }
    }
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await ThreeWayMerge(base: .unknown, local: local, remote: remote) { _ in .local }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test(
    "an error is a sentence",
    arguments: [
      (
        MergeError.identity(side: .local, offset: 3, kind: .duplicate),
        "element 3 of the local version has the identity of an earlier one"
      ),
      (
        .identity(side: .base, offset: 0, kind: .incomparable),
        "element 0 of the base version has an identity that cannot be ordered, such as NaN"
      ),
      (
        .identity(side: .remote, offset: 1, kind: .descending),
        "element 1 of the remote version is out of order: its identity is less than the one before"
      ),
      (
        .changedIdentity(conflict: 2), "conflict 2 was resolved to a record of another identity"
      ),
    ])
  func description(error: MergeError, text: String) {
    #expect(error.description == text)
  }
}
