import Foundation

/// A program run as a whole process, from its start to its end.
struct Program {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  var path: String

  /// The `tandem` that `scripts/bench` built.
  static func tandem() throws -> Program {
    guard let path = ProcessInfo.processInfo.environment["TANDEM"] else {
      throw Failure(description: "TANDEM must name the tandem executable; use `make bench`")
    }
    return Program(path: path)
  }

  /// A program of the system.
  static func system(_ name: String) throws -> Program {
    let path = "/usr/bin/\(name)"
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw Failure(description: "\(path) is missing; run scripts/bootstrap bench")
    }
    return Program(path: path)
  }

  /// Runs it and returns what it wrote.
  @discardableResult
  func output(_ arguments: [String], statuses: Set<Int32> = [0]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard statuses.contains(process.terminationStatus) else {
      throw Failure(description: "\(path) ended with status \(process.terminationStatus)")
    }
    return String(decoding: data, as: UTF8.self)
  }
}

/// A folder for files of one benchmark, removed with it.
final class TemporaryFolder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appending(
      path: "tandem-bench-\(getpid())-\(UInt32.random(in: 0...UInt32.max))")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String) -> String { url.appending(path: name).path }

  /// Removes a database and what SQLite keeps beside it.
  func removeDatabase(_ name: String) {
    for suffix in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: path(name + suffix))
    }
  }
}
