import Foundation
import Tandem

/// `tandem watch` beside itself on a smaller table, with SQLite's shell as the writer.
///
/// A time is that from handing the shell an UPDATE to having read the line that shows it, so it
/// contains the shell's whole transaction.
enum WatchCases {
  static let otherProcess = BenchmarkGroup(name: "watch-other-process") {
    let folder = try TemporaryFolder()
    let count = 1_000_000
    func watched(_ rowCount: Int, isTracked: Bool = true) throws -> WatchedFile {
      let file = "\(rowCount)-\(isTracked ? "tracked" : "untracked").db"
      return try WatchedFile(
        folder.makePlaces(file, count: rowCount), rowCount: rowCount, isTracked: isTracked)
    }
    func contender(_ name: String, _ watched: WatchedFile) -> Benchmark.Contender {
      .init(name: name, operationCount: 20) {
        _ = folder
        for _ in 0..<20 { try watched.update() }
        return 20
      }
    }
    func memory(_ watched: WatchedFile) throws -> Benchmark.Goal {
      Benchmark.goal(
        atMost: 120, bytesPer: "row, at the most",
        measured: Double(try watched.peakByteCount()) / Double(count))
    }
    let small = contender("the same of 10,000 rows", try watched(10_000))
    let tracked = try watched(count)
    let untracked = try watched(count, isTracked: false)
    return [
      Benchmark(
        name: "another process updates a row of 1 M, tandem watch prints it",
        ours: contender("UPDATE by sqlite3, then the line", tracked),
        others: [small],
        goals: [
          Benchmark.goal(withinMilliseconds: 50), Benchmark.goal(atMost: 1.5, times: small.name),
          try memory(tracked),
        ]),
      Benchmark(
        name: "another process updates a row of 1 M that is not tracked, tandem watch prints it",
        ours: contender("UPDATE by sqlite3, then the line", untracked),
        others: [try reading(folder.makePlaces("read.db", count: count))],
        goals: [Benchmark.goal(withinMilliseconds: 100), try memory(untracked)]),
    ]
  }

  /// SQLite's shell reads every row, which is the least that running the query again takes.
  private static func reading(_ path: String) throws -> Benchmark.Contender {
    let sqlite = try Program.system("sqlite3")
    return .init(name: "sqlite3 reads all rows") {
      try sqlite.output([path, "SELECT sum(id + population + length(name)) FROM place"])
      return nil
    }
  }
}

/// A table, watched by one process and written by another.
private final class WatchedFile {
  private let watch: RunningProgram
  private let shell: RunningProgram
  private let rowCount: Int
  private var number = 0

  init(_ path: String, rowCount: Int, isTracked: Bool) throws {
    let tandem = try Program.tandem()
    if isTracked { try tandem.output(["track", path, "--table", "place"]) }
    watch = try RunningProgram(
      tandem, ["watch", path, "--table", "place", "--json", "--quiet"])
    shell = try RunningProgram(Program.system("sqlite3"), [path])
    self.rowCount = rowCount
    try shell.write(".timeout 5000\n")
    // What is written before the watch has begun is not shown.
    for _ in 0..<60 where try update(withinMilliseconds: 1_000) { return }
    throw Program.Failure(description: "tandem watch shows nothing")
  }

  /// The most memory that `tandem watch` has occupied so far.
  func peakByteCount() throws -> Int {
    guard let count = PeakMemory.peakByteCount(ofProcess: watch.process) else {
      throw Program.Failure(description: "no figure for the memory of tandem watch")
    }
    return count
  }

  /// Updates a row, and returns when that is shown.
  func update() throws {
    guard try update(withinMilliseconds: 10_000) else {
      throw Program.Failure(description: "tandem watch did not show an update")
    }
  }

  private func update(withinMilliseconds limit: Int32) throws -> Bool {
    number += 1
    let population = 1_000_000_000 + number
    let id = number * 7_919 % rowCount
    try shell.write("UPDATE place SET population = \(population) WHERE id = \(id);\n")
    return try watch.skipLines(through: "\"population\":\(population),", withinMilliseconds: limit)
  }
}
