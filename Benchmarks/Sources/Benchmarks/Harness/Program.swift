import Foundation

/// A program run as a whole process, from its start to its end.
struct Program {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  var path: String

  /// The `tandem` that `scripts/bench` built.
  static func tandem() throws -> Program { try built("TANDEM") }

  /// The writers to a space that `scripts/bench` built.
  static func spaceWriters() throws -> Program { try built("SPACE_WRITERS") }

  /// What `scripts/bench` names by a variable.
  static func built(_ name: String) throws -> Program {
    guard let path = ProcessInfo.processInfo.environment[name] else {
      throw Failure(description: "\(name) must name a program; use `make bench`")
    }
    return Program(path: path)
  }

  /// A program from PyPI that `scripts/bench` installed.
  static func peer(_ name: String) throws -> Program {
    Program(path: try built("PEERS").path + "/" + name)
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
    let isMeasured = PeakMemory.isMeasured
    let words = isMeasured ? [CommandLine.arguments[0], Self.peakOption, path] : [path]
    let command = (words + arguments).map(Self.quoted).joined(separator: " ")
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
    if isMeasured {
      // The last line is the figure.
      let end = bytes.dropLast().lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
      PeakMemory.note(Int(String(decoding: bytes[end...].dropLast(), as: UTF8.self)) ?? 0)
      bytes.removeSubrange(end...)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Runs it, and returns the most memory that it occupied at a time, in bytes.
  ///
  /// Linux counts the memory of the process that starts another one as that of the other, so a small
  /// process is between this one and the program: this program, by ``printPeakByteCount(_:)``.
  func peakByteCount(_ arguments: [String]) throws -> Int {
    let own = Program(path: CommandLine.arguments[0])
    let output = try own.output([Self.peakOption, path] + arguments)
    guard let line = output.split(separator: "\n").last, let count = Int(line) else {
      throw Failure(description: "no figure for the memory of \(path)")
    }
    return count
  }

  static let peakOption = "--peak-memory-of"

  /// Runs a program with its arguments, prints the most memory that it occupied at a time as a last
  /// line, and exits with its status.
  static func printPeakByteCount(_ command: [String]) throws {
    guard let path = command.first else { throw Failure(description: "no program") }
    var process = pid_t()
    var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) }
    arguments.append(nil)
    defer { for argument in arguments { free(argument) } }
    guard posix_spawn(&process, path, nil, nil, arguments, environ) == 0 else {
      throw Failure(description: "cannot run \(path)")
    }
    var status: Int32 = 0
    var usage = rusage()
    guard wait4(process, &status, 0, &usage) == process, status & 0x7F == 0 else {
      throw Failure(description: "\(path) ended with wait status \(status)")
    }
    #if canImport(Darwin)
      let unit = 1
    #else
      let unit = 1_024
    #endif
    print(usage.ru_maxrss * unit)
    fflush(nil)
    exit(status >> 8)
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

  /// Makes an empty folder. A former one of this name is moved aside, not removed: for seconds after files
  /// were removed, ext4 takes many times as long to make new ones.
  func makeEmptyFolder(_ name: String) throws {
    let aside = path("\(name)-\(UInt32.random(in: 0...UInt32.max))")
    try? FileManager.default.moveItem(atPath: path(name), toPath: aside)
    try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: true)
  }

  /// Removes a database and what SQLite keeps beside it.
  func removeDatabase(_ name: String) {
    for suffix in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: path(name + suffix))
    }
  }
}
