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
  ///
  /// Foundation's `Process` looks for the end of a program every 50 ms only, which would drown what is
  /// measured here.
  @discardableResult
  func output(_ arguments: [String], statuses: Set<Int32> = [0]) throws -> String {
    let command = ([path] + arguments).map(Self.quoted).joined(separator: " ")
    guard let pipe = popen(command, "r") else { throw Failure(description: "cannot run \(path)") }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while case let count = fread(&chunk, 1, chunk.count, pipe), count > 0 {
      bytes.append(contentsOf: chunk[..<count])
    }
    let status = pclose(pipe)
    guard status & 0x7F == 0, statuses.contains(status >> 8) else {
      throw Failure(description: "\(path) ended with wait status \(status)")
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The argument as a shell takes it literally.
  private static func quoted(_ argument: String) -> String {
    "'" + argument.replacingOccurrences(of: "'", with: "'\\''") + "'"
  }
}

/// A folder for files of one benchmark, removed with it.
final class TemporaryFolder: Sendable {
  let url: URL

  /// - Parameter inMemory: Whether to make it where no disk is behind it, if the system has such a
  ///   place.
  init(inMemory: Bool = false) throws {
    let memory = URL(filePath: "/dev/shm", directoryHint: .isDirectory)
    let isThere = inMemory && FileManager.default.isWritableFile(atPath: memory.path)
    let parent = isThere ? memory : FileManager.default.temporaryDirectory
    url = parent.appending(
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
