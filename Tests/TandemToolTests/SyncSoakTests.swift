import Foundation
import Tandem
import TestFolder
import TestHTTPServer
import TestRandom
import TestTool
import Testing

/// Real processes: a server, three copies that `tandem sync --watch` keeps in step, and a proxy between
/// them that cuts, delays, truncates and repeats. All processes are killed at random.
///
/// `make soak` runs it for ten minutes: `TANDEM_SOAK_SECONDS` is the duration, and `TANDEM_SOAK_SEED`
/// the seed of the edits and accidents.
@Suite("Real processes and a faulty network", .serialized, .timeLimit(.minutes(30)))
struct SyncSoakTests {
  @Test("no edit is lost or made twice while processes are killed and connections are cut")
  func soak() async throws {
    let environment = ProcessInfo.processInfo.environment
    let seconds = environment["TANDEM_SOAK_SECONDS"].flatMap { Double($0) } ?? 60
    let seed =
      environment["TANDEM_SOAK_SEED"].flatMap { UInt64($0) } ?? .random(in: 1...1_000_000)
    var soak = try await SyncSoak(seed: seed)
    let deadline = ContinuousClock.now + .seconds(seconds)
    while ContinuousClock.now < deadline { try await soak.step() }
    try await soak.end()
    soak.check("TANDEM_SOAK_SEED=\(seed)")
    print(
      "soak: \(soak.editCount) edits, \(soak.killCount) kills, \(soak.proxy.faultCount) accidents "
        + "of connections, seed \(seed)")
  }
}

/// A program that is started again after each kill.
private final class Victim {
  private let arguments: [String]
  private let errors: String
  private var program: TestProgram?

  init(_ arguments: [String], errors: String) {
    self.arguments = arguments
    self.errors = errors
  }

  func start() throws {
    if !FileManager.default.fileExists(atPath: errors) {
      _ = FileManager.default.createFile(atPath: errors, contents: nil)
    }
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: errors))
    try handle.seekToEnd()
    program = try TestProgram([Tool.path] + arguments, error: .file(handle))
  }

  /// Ends the program at once, wherever it is. None ends by itself.
  func kill() {
    #expect(
      program?.isRunning == true,
      "\(arguments) ended: \((try? String(contentsOfFile: errors, encoding: .utf8)) ?? "")")
    program?.send(SIGKILL)
    program?.waitUntilEnd()
  }
}

/// The processes, the edits, and the fate of each.
private struct SyncSoak {
  private static let rowCount = 24
  private static let tallyCount = 4
  private static let pause = Duration.milliseconds(8)

  let proxy: FaultyProxy
  private let port: ReservedPort
  private let folder: TemporaryFolder
  private let paths: [String]
  private var databases: [Database] = []
  private let server: Victim
  private var copies: [Victim] = []
  private var generator: SplitMix64
  /// For each edit, the edits that had seen its value and replaced it.
  private var overwriters: [[Int]] = []
  /// The edits whose value a deletion had seen.
  private var deleted: Set<Int> = []
  private var additionCount = 0
  private(set) var killCount = 0
  private var rows: [[String]] = []
  private var tallies: [[Int64]] = []
  private var records = ""

  var editCount: Int { overwriters.count + deleted.count + additionCount }

  init(seed: UInt64) async throws {
    generator = SplitMix64(seed: seed)
    folder = try TemporaryFolder()
    paths = ["a.db", "b.db", "c.db"].map(folder.path)
    port = try ReservedPort()
    proxy = try FaultyProxy(to: port.number, using: SplitMix64(seed: seed))
    server = Victim(
      ["serve", "--data", folder.path(of: "spaces"), "--listen", "127.0.0.1:\(port.number)"],
      errors: folder.path(of: "server.errors"))
    try server.start()
    for path in paths {
      try folder.execute(
        (path as NSString).lastPathComponent,
        "CREATE TABLE note (id TEXT PRIMARY KEY, a TEXT, b TEXT)",
        "CREATE TABLE tally (id TEXT PRIMARY KEY, n INTEGER NOT NULL)")
      try await Self.repeating(
        [
          "attach", path, "--server", proxy.url, "--space", "soak", "--table", "note", "--table",
          "tally", "--policy", "n=counter", "-q",
        ], maxStatus: 0)
      databases.append(try await Database.open(path: path))
      copies.append(Victim(["sync", path, "--watch", "-q"], errors: path + ".errors"))
    }
    try await databases[0].write { transaction in
      for id in 0..<Self.tallyCount {
        try transaction.execute("INSERT INTO tally VALUES (\("t\(id)"), 0)")
      }
    }
    for path in paths { try await Self.repeating(["sync", path, "-q"], maxStatus: 1) }
    for copy in copies { try copy.start() }
  }

  /// Runs a command until no accident disturbs it.
  ///
  /// - Parameter maxStatus: The greatest exit status that is no failure. That of an open conflict is 1.
  private static func repeating(_ arguments: [String], maxStatus: Int32) async throws {
    var result = try await Tool.run(arguments)
    for _ in 0..<5_000 where result.status > maxStatus { result = try await Tool.run(arguments) }
    #expect(result.status <= maxStatus, "\(arguments): \(result.error)")
  }

  /// Makes one edit, or kills a process.
  mutating func step() async throws {
    switch Int.random(in: 0..<400, using: &generator) {
    case 0..<2:
      server.kill()
      killCount += 1
      try server.start()
    case 2..<8:
      let copy = copies[Int.random(in: copies.indices, using: &generator)]
      copy.kill()
      killCount += 1
      try copy.start()
    default: try await edit()
    }
    // The pace of the edits. Nothing depends on it but their number.
    try await Task.sleep(for: Self.pause)
  }

  private mutating func edit() async throws {
    let database = databases[Int.random(in: databases.indices, using: &generator)]
    let row = "r\(Int.random(in: 0..<Self.rowCount, using: &generator))"
    switch Int.random(in: 0..<20, using: &generator) {
    case 0..<4:
      let tally = "t\(Int.random(in: 0..<Self.tallyCount, using: &generator))"
      try await database.write {
        try $0.execute("UPDATE tally SET n = n + 1 WHERE id = \(tally)")
      }
      additionCount += 1
    case 4:
      let seen = try await database.write { transaction in
        let seen = try Self.edits(of: row, "coalesce(a, '') || coalesce(b, '')", transaction)
        try transaction.execute("DELETE FROM note WHERE id = \(row)")
        return seen
      }
      deleted.formUnion(seen)
    default:
      let column = Bool.random(using: &generator) ? "a" : "b"
      let edit = overwriters.count
      let seen = try await database.write { transaction in
        let seen = try Self.edits(of: row, "coalesce(\(column), '')", transaction)
        try transaction.execute(
          SQL(
            text: "INSERT INTO note (id, \(column)) VALUES (?, ?) "
              + "ON CONFLICT (id) DO UPDATE SET \(column) = excluded.\(column)",
            parameters: [.text(row), .text("e\(edit).")]))
        return seen
      }
      overwriters.append([])
      for old in seen { overwriters[old].append(edit) }
    }
  }

  /// The edits whose values a row has.
  private static func edits(
    of row: String, _ expression: String, _ transaction: borrowing WriteTransaction
  ) throws -> [Int] {
    let text: String? = try transaction.fetchValue(
      SQL(text: "SELECT \(expression) FROM note WHERE id = ?", parameters: [.text(row)]))
    return edits(in: text ?? "")
  }

  /// The edits whose values a text has.
  private static func edits(in text: String) -> [Int] {
    text.split(separator: "e").compactMap { part in
      let digits = part.prefix { $0.isNumber }
      return part.dropFirst(digits.count).first == "." ? Int(digits) : nil
    }
  }

  /// Ends the accidents, and brings all copies in step.
  mutating func end() async throws {
    for copy in copies { copy.kill() }
    server.kill()
    try server.start()
    proxy.heal()
    // The second round brings what the merges of the first one made.
    for _ in 0..<3 {
      for path in paths { try await Self.repeating(["sync", path, "-q"], maxStatus: 1) }
    }
    for (path, database) in zip(paths, databases) {
      let status = try await Tool.run(["status", path, "--json"])
      #expect(
        status.output.contains("\"state\":\"upToDate\"")
          || status.output.contains("\"state\":\"conflicts\""), "\(status.output)\(status.error)")
      #expect(status.output.contains("\"pending\":0,"), "\(status.output)")
      let (notes, counts, kept) = try await database.read { transaction in
        (
          try transaction.fetchValues(
            "SELECT id || ' ' || quote(a) || ' ' || quote(b) FROM note ORDER BY id",
            as: String.self),
          try transaction.fetchValues("SELECT n FROM tally ORDER BY id", as: Int64.self),
          try transaction.fetchValues(
            """
            SELECT coalesce(base, '') || coalesce(local, '') || coalesce(remote, '')
              FROM tandem_kept
            """, as: String.self)
        )
      }
      rows.append(notes)
      tallies.append(counts)
      records += kept.joined(separator: "\n") + "\n"
      await database.close()
    }
    server.kill()
    proxy.stop()
  }

  /// Checks that all copies are equal, and that each edit is final, recorded, or overwritten by an edit
  /// that had seen it.
  func check(_ seed: String) {
    #expect(rows.allSatisfy { $0 == rows[0] }, "\(seed): \(rows)")
    #expect(tallies.allSatisfy { $0 == tallies[0] }, "\(seed): \(tallies)")
    #expect(tallies[0].reduce(0, +) == Int64(additionCount), "\(seed): \(tallies)")
    var kept = [Bool](repeating: false, count: overwriters.count)
    for edit in Self.edits(in: rows[0].joined() + records) where edit < kept.count {
      kept[edit] = true
    }
    for edit in deleted { kept[edit] = true }
    // Overwriters are later edits.
    for edit in kept.indices.reversed() where !kept[edit] {
      kept[edit] = overwriters[edit].contains { kept[$0] }
    }
    let lost = kept.indices.filter { !kept[$0] }
    #expect(
      lost.isEmpty,
      "\(seed): lost \(lost.prefix(10)); overwritten by \(lost.prefix(10).map { overwriters[$0] })")
    #expect(killCount > 0 && proxy.faultCount > 0)
  }
}
