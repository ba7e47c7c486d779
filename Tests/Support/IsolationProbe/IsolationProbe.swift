import TandemDifferences
import TandemSync

/// Checks that asynchronous calls return and throw on their caller's actor. The checks trap otherwise.
///
/// A program of its own, because the fault that it looks for exists in optimized builds only: Swift 6.3.1 lets callers
/// of `nonisolated(nonsending)` functions go on off their actor after an error. `scripts/test` runs it in release.
@main
enum IsolationProbe {
  static func main() async throws {
    try await Caller().check()
    try await checkOnMainActor()
    print("all calls returned on their caller's actor")
  }

  @MainActor static func checkOnMainActor() async throws {
    var device = Device()
    for step in Step.allCases {
      await device.synchronize(at: step)
      MainActor.preconditionIsolated("synchronize, \(step)")
      device.edit()
    }
    for isFailing in [false, true] {
      _ = try? await merge(isFailing: isFailing)
      MainActor.preconditionIsolated("merge, fails: \(isFailing)")
    }
  }
}

/// An actor that calls.
actor Caller {
  func check() async throws {
    var device = Device()
    for step in Step.allCases {
      await device.synchronize(at: step)
      preconditionIsolated("synchronize, \(step)")
      device.edit()
    }
    for isFailing in [false, true] {
      _ = try? await merge(isFailing: isFailing)
      preconditionIsolated("merge, fails: \(isFailing)")
    }
  }
}

struct Note: Equatable, Identifiable, Sendable {
  var id: Int
  var text: String
}

struct Failure: Error {}

/// The call that fails. A push whose reply is lost is repeated by the next step.
enum Step: CaseIterable {
  case nothing, pull, push, reply, repetition, afterRepetition, resolver, saving
}

/// A remote that fails at a step, after it was suspended.
actor FailingRemote: ConditionalRemote {
  private let remote = InMemoryRemote<Note>()
  private var step = Step.nothing

  func fail(at step: Step) { self.step = step }

  func pull() async throws -> (elements: [Note], revision: RemoteRevision)? {
    await Task.yield()
    if step == .pull || step == .afterRepetition { throw Failure() }
    return await remote.pull()
  }

  func push(
    _ contents: [Note], difference: SetDifference<Note>, at revision: RemoteRevision?, token: String
  ) async throws -> RemoteRevision? {
    await Task.yield()
    if step == .push || step == .repetition { throw Failure() }
    let reply = await remote.push(contents, difference: difference, at: revision, token: token)
    if step == .reply { throw Failure() }
    return reply
  }

  /// Another client replaces the contents.
  func interfere(_ text: String) async {
    guard let revision = await remote.pull()?.revision else { return }
    _ = await remote.push(
      [Note(id: 1, text: text)], difference: SetDifference(), at: revision,
      token: PushToken.random().text)
  }
}

/// A client and its shadow, in the isolation domain of their owner.
struct Device {
  private let remote = FailingRemote()
  private var client = [Note(id: 1, text: "")]
  private var shadow = RemoteShadow<Note>()
  private var editCount = 0

  mutating func edit() {
    editCount += 1
    client = [Note(id: 1, text: "\(editCount)")]
  }

  mutating func synchronize(
    at step: Step, isolation: isolated (any Actor)? = #isolation
  ) async {
    if step == .pull || step == .resolver { await remote.interfere("\(step)") }
    await remote.fail(at: step)
    let synchronizer = Synchronizer(
      remote: remote, identifiedBy: \.id, policy: .unresolved, epochPolicy: .union,
      resolver: { _ in
        await Task.yield()
        if step == .resolver { throw Failure() }
        return .local
      },
      save: { _, _ in
        await Task.yield()
        if step == .saving { throw Failure() }
      })
    do {
      try await synchronizer.synchronize(client: &client, shadow: &shadow)
    } catch {
      isolation?.preconditionIsolated("the error of synchronize, \(step)")
    }
    isolation?.preconditionIsolated("the end of synchronize, \(step)")
  }
}

/// Merges two versions with a conflict, on the caller's actor.
func merge(
  isFailing: Bool, isolation: isolated (any Actor)? = #isolation
) async throws -> [Note] {
  let merge = try await ThreeWayMerge(
    base: .unknown, local: [Note(id: 1, text: "a")], remote: [Note(id: 1, text: "b")]
  ) { _ in
    await Task.yield()
    isolation?.preconditionIsolated("the resolver")
    if isFailing { throw Failure() }
    return .local
  }
  isolation?.preconditionIsolated("the end of the merge")
  return merge.merged
}
