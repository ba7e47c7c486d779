import CFloors
import TandemDifferences

/// Two versions of a million records, 1 % of which are changed: a third each deleted, inserted and
/// updated.
enum SetDifferenceCases {
  struct Row: Equatable, Identifiable {
    var id: Int64
    var first: Int64
    var second: Int64
  }

  struct Document: Equatable, Identifiable {
    var id: String
    var payload: String
  }

  static let count = 1_000_000

  static let integers = BenchmarkGroup(name: "set-integers") {
    let change = { (row: inout Row) in row.second += 1 }
    let (old, new) = versions(make: { row(Int64($0)) }, change: change)
    let (unsortedOld, unsortedNew) = versions(
      make: { row(Int64(truncatingIfNeeded: scrambled($0))) }, change: change)
    var generator = SplitMix64(seed: 3)
    let shuffledNew = unsortedNew.shuffled(using: &generator)
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
      unsorted("1 M integer keys, shuffled", unsortedOld, shuffledNew, atLeast: 2),
      unsorted("1 M integer keys, order mostly kept", unsortedOld, unsortedNew, atLeast: 10),
      oneUpdate(unsortedOld),
    ]
  }

  static let strings = BenchmarkGroup(name: "set-strings") {
    let change = { (document: inout Document) in document.payload = "changed " + document.payload }
    let (old, new) = versions(make: { document(UInt64($0)) }, change: change)
    let reread = new.map { Document(id: copy($0.id), payload: copy($0.payload)) }
    let (unsortedOld, unsortedNew) = versions(make: { document(scrambled($0)) }, change: change)
    let unsortedReread = unsortedNew.map { Document(id: copy($0.id), payload: copy($0.payload)) }
    var generator = SplitMix64(seed: 4)
    let shuffledNew = unsortedNew.shuffled(using: &generator)
    return [
      Benchmark(
        name: "1 M string keys, 200-byte records, sorted",
        ours: .init(name: "SetDifference(sortedBy:)") {
          try SetDifference(from: old, to: reread, sortedBy: \.id).count
        },
        others: [.init(name: "hand-written Swift merge") { mergeByHand(old, reread) }],
        goals: [Benchmark.goal(atMost: 1.3, times: "hand-written Swift merge")]),
      unsorted("1 M string keys, shuffled", unsortedOld, shuffledNew, atLeast: 2),
      // Both hash the strings, which is most of the time.
      unsorted("1 M string keys, order mostly kept", unsortedOld, unsortedNew, atLeast: 6),
      unsorted(
        "1 M string keys, order mostly kept, every string read anew", unsortedOld, unsortedReread,
        atLeast: 2),
    ]
  }

  /// One record of a million, in no order, has changed. An identity may occur twice, so each is hashed once: a pass that
  /// compares in step is no goal.
  static func oneUpdate(_ old: [Row]) -> Benchmark {
    var new = old
    new[old.count / 2].second += 1
    let changed = new
    return Benchmark(
      name: "1 M integer keys in no order, one updated",
      ours: .init(name: "SetDifference(identifiedBy:)") {
        try SetDifference(from: old, to: changed).count
      },
      others: [
        .init(name: "Dictionary join") { joinByDictionary(old, changed) },
        .init(name: "one pass comparing in step") { zip(old, changed).count { $0 != $1 } },
      ],
      goals: [Benchmark.goal(atLeast: 8, timesFasterThan: "Dictionary join")])
  }

  static func unsorted<Element: Equatable & Identifiable>(
    _ name: String, _ old: [Element], _ new: [Element], atLeast factor: Double
  ) -> Benchmark {
    Benchmark(
      name: name,
      ours: .init(name: "SetDifference(identifiedBy:)") {
        try SetDifference(from: old, to: new).count
      },
      others: [.init(name: "Dictionary join") { joinByDictionary(old, new) }],
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

  /// A different number for each offset, in no order.
  static func scrambled(_ offset: Int) -> UInt64 {
    UInt64(truncatingIfNeeded: offset) &* 0x9E37_79B9_7F4A_7C15
  }

  static func row(_ id: Int64) -> Row { Row(id: id, first: id &* 7, second: 1) }

  /// A record with an identifier in the form of a UUID, ascending with `number`.
  static func document(_ number: UInt64) -> Document {
    let digits = String(number, radix: 16)
    let padded = String(repeating: "0", count: 16 - digits.count) + digits
    let id = "\(padded.prefix(8))-8c1b-4f7e-9d2a-1f0e\(padded.suffix(8))"
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
  static func joinByDictionary<Element: Equatable & Identifiable>(
    _ old: [Element], _ new: [Element]
  ) -> Int {
    var remaining = Dictionary(uniqueKeysWithValues: old.map { ($0.id, $0) })
    var inserted: [Element] = []
    var updated: [(Element, Element)] = []
    for element in new {
      if let before = remaining.removeValue(forKey: element.id) {
        if before != element { updated.append((before, element)) }
      } else {
        inserted.append(element)
      }
    }
    return inserted.count + updated.count + remaining.count
  }
}
