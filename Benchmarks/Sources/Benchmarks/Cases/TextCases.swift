import Foundation
import TandemDifferences

/// Text differences on editing sessions, beside the scan for a common prefix and suffix over the whole
/// new text, which is the floor.
///
/// The sessions are those of josephg/editing-traces in the folder that `EDITING_TRACES` names; without
/// it, one is made up. The goals are what diff-match-patch in C++ takes on such sessions, as multiples
/// of that scan.
enum TextCases {
  struct Case {
    var name: String
    var distance: Distance
    var old: String
    var new: String
  }

  /// How many keystrokes lie between two versions.
  enum Distance: CaseIterable {
    case ten, thousand, tenThousand, half

    func count(of total: Int) -> Int {
      switch self {
      case .ten: 10
      case .thousand: 1_000
      case .tenThousand: 10_000
      case .half: total / 2
      }
    }

    /// diff-match-patch's time over the scan's: 0.68, 1.65, 38 and 1,001 ms over 0.03 ms.
    var goal: Double {
      switch self {
      case .ten: 22.7
      case .thousand: 55
      case .tenThousand: 1_267
      case .half: 33_367
      }
    }
  }

  static let lines = BenchmarkGroup(name: "text-lines") {
    let folder = try TemporaryFolder(inMemory: true)
    let git = try Program.system("git")
    let old = (0..<1_000_000).map { "line \($0) with some words: \($0 * 7_919 % 1_000_003)\n" }
    var new = old
    for number in stride(from: 0, to: old.count, by: 100) {
      switch number / 100 % 3 {
      case 0: new[number] = "changed \(number)\n"
      case 1: new[number] = ""
      default: new[number] += "inserted \(number)\n"
      }
    }
    let versions = [old.joined(), new.joined()]
    let paths = ["old.txt", "new.txt"].map(folder.path)
    for (path, text) in zip(paths, versions) {
      try text.write(toFile: path, atomically: true, encoding: .utf8)
    }
    return [
      Benchmark(
        name: "text of 1 M lines, 1 % changed, by lines",
        ours: .init(
          name: "TextDifference by lines",
          run: {
            // The files go with the folder.
            try withExtendedLifetime(folder) {
              let texts = try paths.map { try String(contentsOfFile: $0, encoding: .utf8) }
              _ = TextDifference(from: texts[0], to: texts[1], by: .lines).edits.count
            }
            return nil
          }, stopwatch: .processorTime),
        others: [
          .init(
            name: "git diff",
            run: {
              let options = ["diff", "--no-index", "--shortstat"]
              try git.output(options + paths, statuses: [1])
              return nil
            }, stopwatch: .processorTimeOfPrograms)
        ],
        goals: [Benchmark.goal(atMost: 1, times: "git diff")])
    ]
  }

  static let sessions = BenchmarkGroup(name: "text") {
    let folder = ProcessInfo.processInfo.environment["EDITING_TRACES"] ?? ""
    return cases(in: folder).map { textCase in
      let (old, new) = (textCase.old, textCase.new)
      let copy = String(decoding: Array(new.utf8), as: UTF8.self)
      let difference = TextDifference(from: old, to: new)
      let scan = "common prefix and suffix"
      return Benchmark(
        name: "text, \(textCase.name): \(difference.edits.count) edits, delta of "
          + "\(difference.delta.utf8.count) bytes, \(binarySize(difference)) in binary",
        ours: .init(name: "TextDifference") {
          _ = TextDifference(from: old, to: new).edits.count
          return nil
        },
        others: [
          .init(name: scan) {
            guard commonEnds(new, copy) == new.utf8.count else { return -1 }
            return nil
          }
        ],
        goals: [Benchmark.goal(atMost: textCase.distance.goal, times: scan)])
    }
  }

  /// The floor: one byte after the other, from both ends.
  @inline(never)
  static func commonEnds(_ old: String, _ new: String) -> Int {
    var (old, new) = (old, new)
    return old.withUTF8 { old in
      new.withUTF8 { new in
        let limit = min(old.count, new.count)
        var prefix = 0
        while prefix < limit, old[prefix] == new[prefix] { prefix += 1 }
        var suffix = 0
        while suffix < limit - prefix, old[old.count - 1 - suffix] == new[new.count - 1 - suffix] {
          suffix += 1
        }
        return prefix + suffix
      }
    }
  }

  /// How many bytes the edits take with every number as a varint (seven bits a byte).
  static func binarySize(_ difference: TextDifference) -> Int {
    func varint(_ value: Int) -> Int { max(1, (70 - value.leadingZeroBitCount) / 7) }
    var (size, end) = (0, 0)
    for edit in difference.edits {
      let (deleted, inserted) = (edit.deleted.utf8.count, edit.inserted.utf8.count)
      size += varint(edit.offset - end) + varint(deleted) + varint(inserted) + inserted
      end = edit.offset + deleted
    }
    return size
  }
}

// MARK: - Sessions

extension TextCases {
  /// Each session's last version, against the one so many keystrokes before.
  static func cases(in directory: String) -> [Case] {
    let names = ["sveltecomponent", "friendsforever_flat", "rustcode"]
    let sessions = names.compactMap { name in
      session(at: "\(directory)/\(name).json.gz").map { (name, $0) }
    }
    return (sessions.isEmpty ? [("generated", generatedSession())] : sessions).flatMap(cases)
  }

  private static func cases(_ name: String, _ session: Session) -> [Case] {
    let patches = session.txns.flatMap(\.patches)
    var versions: [Int: String] = [:]
    let counts = Set(Distance.allCases.map { $0.count(of: patches.count) })
    var scalars = Array(session.startContent.unicodeScalars)
    for (index, patch) in patches.enumerated() {
      let remaining = patches.count - index
      if counts.contains(remaining) { versions[remaining] = text(scalars) }
      scalars.replaceSubrange(
        patch.position..<patch.position + patch.deleted, with: patch.inserted.unicodeScalars)
    }
    let last = text(scalars)
    return Distance.allCases.compactMap { distance in
      let count = distance.count(of: patches.count)
      return versions[count].map {
        Case(name: "\(name), \(count) keystrokes apart", distance: distance, old: $0, new: last)
      }
    }
  }

  private static func text(_ scalars: [Unicode.Scalar]) -> String {
    var text = ""
    text.unicodeScalars.append(contentsOf: scalars)
    return text
  }

  struct Session: Decodable {
    struct Transaction: Decodable {
      var patches: [Patch]
    }

    struct Patch: Decodable {
      var position: Int
      var deleted: Int
      var inserted: String

      init(position: Int, deleted: Int, inserted: String) {
        self.position = position
        self.deleted = deleted
        self.inserted = inserted
      }

      init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        position = try container.decode(Int.self)
        deleted = try container.decode(Int.self)
        inserted = try container.decode(String.self)
      }
    }

    var startContent: String
    var txns: [Transaction]
  }

  private static func session(at path: String) -> Session? {
    guard FileManager.default.isReadableFile(atPath: path) else { return nil }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["gzip", "-dc", path]
    let pipe = Pipe()
    process.standardOutput = pipe
    guard (try? process.run()) != nil else { return nil }
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return try? JSONDecoder().decode(Session.self, from: data)
  }

  /// Somebody who writes 100 KB of sentences: mostly at the end, sometimes going back to correct.
  private static func generatedSession() -> Session {
    var state: UInt64 = 42
    func random(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(bound))
    }
    let letters = Array("etaoin shrdlu cmfwyp\n vbgkqjxz ")
    var (count, cursor) = (0, 0)
    let patches = (0..<130_000).map { _ in
      if random(60) == 0 { cursor = random(3) == 0 ? random(count + 1) : count }
      let deletes = random(8) == 0 && cursor > 0
      if deletes { (count, cursor) = (count - 1, cursor - 1) }
      defer { if !deletes { (count, cursor) = (count + 1, cursor + 1) } }
      return Session.Patch(
        position: cursor, deleted: deletes ? 1 : 0,
        inserted: deletes ? "" : String(letters[random(letters.count)]))
    }
    return Session(startContent: "", txns: [Session.Transaction(patches: patches)])
  }
}
