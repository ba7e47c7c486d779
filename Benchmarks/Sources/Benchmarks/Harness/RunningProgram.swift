import Foundation

/// A program that runs beside the benchmark: what it reads is written here, what it writes is read
/// here, line by line. It is ended with this.
final class RunningProgram {
  private let path: String
  private(set) var process: pid_t = 0
  private let input: Int32
  private let output: Int32
  private var pending: [UInt8] = []

  init(_ program: Program, _ arguments: [String]) throws {
    path = program.path
    let (childInput, input) = try Self.pipe()
    let (output, childOutput) = try Self.pipe()
    self.input = input
    self.output = output
    defer {
      close(childInput)
      close(childOutput)
    }
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
    #else
      var actions = posix_spawn_file_actions_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, childInput, STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, childOutput, STDOUT_FILENO)
    let environment = ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
    let status = Self.withCStrings([path] + arguments) { arguments in
      Self.withCStrings(environment) { environment in
        posix_spawn(&process, path, &actions, nil, arguments, environment)
      }
    }
    guard status == 0 else { throw Program.Failure(description: "cannot run \(path)") }
  }

  deinit {
    close(input)
    close(output)
    guard process > 0 else { return }
    kill(process, SIGTERM)
    waitpid(process, nil, 0)
  }

  func write(_ text: String) throws {
    let bytes = Array(text.utf8)
    guard Foundation.write(input, bytes, bytes.count) == bytes.count else {
      throw Program.Failure(description: "\(path) does not read")
    }
  }

  /// Skips lines up to one that contains `text`; `false` if nothing is written for so long.
  func skipLines(through text: String, withinMilliseconds limit: Int32) throws -> Bool {
    while let line = try nextLine(withinMilliseconds: limit) {
      if line.contains(text) { return true }
    }
    return false
  }

  /// The next line; `nil` if none is written for so long.
  func nextLine(withinMilliseconds limit: Int32) throws -> String? {
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      if let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
        defer { pending.removeSubrange(...end) }
        return String(decoding: pending[..<end], as: UTF8.self)
      }
      var request = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
      guard poll(&request, 1, limit) > 0 else { return nil }
      let count = read(output, &chunk, chunk.count)
      guard count > 0 else { throw Program.Failure(description: "\(path) has ended") }
      pending.append(contentsOf: chunk[..<count])
    }
  }

  /// The ends of a pipe, to read from and to write to, which no child inherits.
  private static func pipe() throws -> (Int32, Int32) {
    var ends: [Int32] = [0, 0]
    guard Foundation.pipe(&ends) == 0 else { throw Program.Failure(description: "no pipe") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  private static func withCStrings<Value>(
    _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Value
  ) -> Value {
    let pointers = texts.map { strdup($0) }
    defer { for pointer in pointers { free(pointer) } }
    return body(pointers + [nil])
  }
}
