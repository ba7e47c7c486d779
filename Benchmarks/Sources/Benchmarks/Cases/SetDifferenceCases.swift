import CFloors
import TandemDifferences

/// Two versions of a million records, 1 % of which are changed: a third each deleted, inserted and
/// updated.
enum SetDifferenceCases {
  struct Row: Equatable {
    var id: Int64
    var first: Int64
    var second: Int64
  }

  struct Document: Equatable {
    var id: String
    var payload: String
  }

  static let count = 1_000_000

  static let integers = BenchmarkGroup(name: "set-integers") {
    let (old, new) = versions(
      make: { Row(id: Int64($0), first: Int64($0) * 7, second: 1) },
      change: { $0.second += 1 })
    var generator = SplitMix64(seed: 3)
    let shuffledNew = new.shuffled(using: &generator)
    let unsortedOld = old.shuffled(using: &generator)
    let unsortedNew = reordered(new, like: unsortedOld, by: \.id)
    return [
      Benchmark(
        name: "1 M integer keys, sorted",
        ours: .init(name: "SetDifference(sortedBy:)") {
          try SetDifference(from: old, to: new, sortedBy: \.id).count
        },
        others: [
          .init(name: "C -O3 merge") { mergeInC(old, new) },
          .init(name: "hand-written Swift merge") { mergeByHand(old, new) },
        ],
        goals: [Benchmark.goal(atMost: 2.5, times: "C -O3 merge")]),
      unsorted(
        "1 M integer keys, shuffled", old, shuffledNew, id: \.id, atLeast: 2),
      unsorted(
        "1 M integer keys, order mostly kept", unsortedOld, unsortedNew, id: \.id, atLeast: 10),
    ]
  }

  static let strings = BenchmarkGroup(name: "set-strings") {
    let (old, new) = versions(
      make: { document($0) }, change: { $0.payload = "changed " + $0.payload })
    var generator = SplitMix64(seed: 4)
    let shuffledNew = new.shuffled(using: &generator)
    let unsortedOld = old.shuffled(using: &generator)
    let unsortedNew = reordered(new, like: unsortedOld, by: \.id)
    let reread = new.map { Document(id: copy($0.id), payload: copy($0.payload)) }
    return [
      Benchmark(
        name: "1 M string keys, 200-byte records, sorted",
        ours: .init(name: "SetDifference(sortedBy:)") {
          try SetDifference(from: old, to: reread, sortedBy: \.id).count
        },
        others: [.init(name: "hand-written Swift merge") { mergeByHand(old, reread) }],
        goals: [Benchmark.goal(atMost: 1.3, times: "hand-written Swift merge")]),
      unsorted("1 M string keys, shuffled", old, shuffledNew, id: \.id, atLeast: 2),
      unsorted(
        "1 M string keys, order mostly kept", unsortedOld, unsortedNew, id: \.id, atLeast: 10),
      unsorted(
        "1 M string keys, order mostly kept, every string read anew", unsortedOld,
        unsortedNew.map { Document(id: copy($0.id), payload: copy($0.payload)) }, id: \.id,
        atLeast: 2),
    ]
  }

  static func unsorted<Element: Equatable, ID: Hashable>(
    _ name: String, _ old: [Element], _ new: [Element], id: @escaping (Element) -> ID,
    atLeast factor: Double
  ) -> Benchmark {
    Benchmark(
      name: name,
      ours: .init(name: "SetDifference(identifiedBy:)") {
        try SetDifference(from: old, to: new, identifiedBy: id).count
      },
      others: [.init(name: "Dictionary join") { joinByDictionary(old, new, id: id) }],
      goals: [Benchmark.goal(atLeast: factor, timesFasterThan: "Dictionary join")])
  }
}

// MARK: - Data

extension SetDifferenceCases {
  static func versions<Element>(
    make: (Int) -> Element, change: (inout Element) -> Void
  ) -> (old: [Element], new: [Element]) {
    var generator = SplitMix64(seed: 1)
    var old: [Element] = []
    var new: [Element] = []
    old.reserveCapacity(count)
    new.reserveCapacity(count)
    for offset in 0..<count {
      let element = make(offset)
      switch Int.random(in: 0..<300, using: &generator) {
      case 0: old.append(element)
      case 1: new.append(element)
      case 2:
        var changed = element
        change(&changed)
        old.append(element)
        new.append(changed)
      default:
        old.append(element)
        new.append(element)
      }
    }
    return (old, new)
  }

  /// `elements` in the order of `model`, those it lacks at the end of every hundredth.
  static func reordered<Element, ID: Hashable>(
    _ elements: [Element], like model: [Element], by id: (Element) -> ID
  ) -> [Element] {
    var byID = Dictionary(uniqueKeysWithValues: elements.map { (id($0), $0) })
    let kept = model.compactMap { byID.removeValue(forKey: id($0)) }
    var added = elements.filter { byID[id($0)] != nil }
    var result: [Element] = []
    result.reserveCapacity(elements.count)
    let distance = max(1, kept.count / (added.count + 1))
    for (offset, element) in kept.enumerated() {
      result.append(element)
      if offset % distance == 0, let last = added.popLast() { result.append(last) }
    }
    return result + added
  }

  /// A record with an identifier in the form of a UUID, ascending with `offset`.
  static func document(_ offset: Int) -> Document {
    let digits = String(offset, radix: 16)
    let padded = String(repeating: "0", count: 8 - digits.count) + digits
    let id = "\(padded)-8c1b-4f7e-9d2a-1f0e5c3b\(digits.suffix(4))"
    let payload = String(repeating: "Lorem ipsum dolor sit amet \(digits) ", count: 5).prefix(160)
    return Document(id: id, payload: String(payload))
  }

  /// The same text in memory of its own, as if it had been read again.
  static func copy(_ text: String) -> String { String(decoding: Array(text.utf8), as: UTF8.self) }
}

// MARK: - Floors and peers

extension SetDifferenceCases {
  static func mergeInC(_ old: [Row], _ new: [Row]) -> Int {
    var inserted = [UInt32](repeating: 0, count: new.count / 50)
    var updated = inserted
    var deleted = inserted
    var counts = (inserted: 0, updated: 0, deleted: 0)
    old.withUnsafeBytes { old in
      new.withUnsafeBytes { new in
        floor_merge(
          old.bindMemory(to: floor_record.self).baseAddress, old.count / 24,
          new.bindMemory(to: floor_record.self).baseAddress, new.count / 24,
          &inserted, &counts.inserted, &updated, &counts.updated, &deleted, &counts.deleted)
      }
    }
    return counts.inserted + counts.updated + counts.deleted
  }

  static func mergeByHand(_ old: [Row], _ new: [Row]) -> Int {
    var inserted: [Row] = []
    var updated: [(Row, Row)] = []
    var deleted: [Row] = []
    var i = 0
    var j = 0
    while i < old.count, j < new.count {
      if old[i].id == new[j].id {
        if old[i] != new[j] { updated.append((old[i], new[j])) }
        i += 1
        j += 1
      } else if old[i].id < new[j].id {
        deleted.append(old[i])
        i += 1
      } else {
        inserted.append(new[j])
        j += 1
      }
    }
    deleted.append(contentsOf: old[i...])
    inserted.append(contentsOf: new[j...])
    return inserted.count + updated.count + deleted.count
  }

  static func mergeByHand(_ old: [Document], _ new: [Document]) -> Int {
    var inserted: [Document] = []
    var updated: [(Document, Document)] = []
    var deleted: [Document] = []
    var i = 0
    var j = 0
    while i < old.count, j < new.count {
      if old[i].id == new[j].id {
        if old[i] != new[j] { updated.append((old[i], new[j])) }
        i += 1
        j += 1
      } else if old[i].id < new[j].id {
        deleted.append(old[i])
        i += 1
      } else {
        inserted.append(new[j])
        j += 1
      }
    }
    deleted.append(contentsOf: old[i...])
    inserted.append(contentsOf: new[j...])
    return inserted.count + updated.count + deleted.count
  }

  @inline(__always)
  static func joinByDictionary<Element: Equatable, ID: Hashable>(
    _ old: [Element], _ new: [Element], id: (Element) -> ID
  ) -> Int {
    var remaining = Dictionary(uniqueKeysWithValues: old.map { (id($0), $0) })
    var inserted: [Element] = []
    var updated: [(Element, Element)] = []
    for element in new {
      if let before = remaining.removeValue(forKey: id(element)) {
        if before != element { updated.append((before, element)) }
      } else {
        inserted.append(element)
      }
    }
    return inserted.count + updated.count + remaining.count
  }
}
