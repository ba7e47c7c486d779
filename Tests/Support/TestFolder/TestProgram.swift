import Dispatch
package import Foundation
import Synchronization
import TestSystemCalls

/// Another program, started for a test, as a process of its own.
///
/// It takes the place of Foundation's `Process`, which may crash when several threads start programs, or when
/// many files are open. A program gets the three standard streams and no other file of this process, so that a
/// pipe ends when its own program does, however many others run.
package final class TestProgram: Sendable {
  /// What a stream of the program is connected with.
  package enum Stream {
    /// Nothing: reading finds the end, what is written is dropped.
    case null
    /// The stream of this process.
    case inherited
    /// A file or a pipe, which this process may close afterwards.
    case file(FileHandle)
    /// The end of a pipe that the program uses.
    case pipe(Pipe)
  }

  package let processIdentifier: Int32
  private let ending = Ending()

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - arguments: The path or name of the program, which is looked up in `PATH`, and its arguments.
  ///   - folder: The folder that it runs in; `nil` for that of this process.
  ///   - environment: Its environment; `nil` for that of this process.
  package init(
    _ arguments: [String], input: Stream = .null, output: Stream = .null,
    error: Stream = .inherited, folder: String? = nil, environment: [String: String]? = nil
  ) throws {
    processIdentifier = try Self.spawn(
      arguments, streams: [input, output, error], folder: folder, environment: environment)
    // A pipe ends when its last writer has closed it. One pipe may be both output and error.
    if case .pipe(let pipe) = input { try? pipe.fileHandleForReading.close() }
    for case .pipe(let pipe) in [output, error] { try? pipe.fileHandleForWriting.close() }
    // A thread of its own, because a test must not keep one of the few threads of tasks.
    Thread.detachNewThread { [ending, processIdentifier] in ending.waitForEnd(of: processIdentifier)
    }
  }

  deinit { send(SIGKILL) }

  private static func spawn(
    _ arguments: [String], streams: [Stream], folder: String?, environment: [String: String]?
  ) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (number, stream) in zip(Int32(0)..., streams) {
      let file: Int32
      switch stream {
      case .inherited: continue
      case .null:
        posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
        continue
      case .file(let handle): file = handle.fileDescriptor
      case .pipe(let pipe):
        file = (number == 0 ? pipe.fileHandleForReading : pipe.fileHandleForWriting).fileDescriptor
      }
      posix_spawn_file_actions_adddup2(&actions, file, number)
    }
    if let folder { posix_spawn_file_actions_addchdir_np(&actions, folder) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // Threads of tests may block or ignore signals that the program needs.
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    for signal in [SIGPIPE, SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, signal) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    var flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
    #if canImport(Darwin)
      flags |= POSIX_SPAWN_CLOEXEC_DEFAULT
    #else
      posix_spawn_file_actions_addclosefrom_np(&actions, 3)
    #endif
    posix_spawnattr_setflags(&attributes, Int16(flags))
    let variables = (environment ?? ProcessInfo.processInfo.environment).map { "\($0)=\($1)" }
    let (words, settings) = (arguments.map { strdup($0) }, variables.map { strdup($0) })
    defer { (words + settings).forEach { free($0) } }
    var identifier: pid_t = 0
    let code = posix_spawnp(
      &identifier, arguments[0], &actions, &attributes, words + [nil], settings + [nil])
    guard code == 0 else {
      throw NSError(
        domain: NSPOSIXErrorDomain, code: Int(code), userInfo: [NSFilePathErrorKey: arguments[0]])
    }
    return identifier
  }
}

// MARK: - Its end

extension TestProgram {
  /// Waits for the end without keeping a thread of the tasks; returns the exit status, or minus the signal
  /// that ended the program.
  package func end() async -> Int32 {
    defer { withExtendedLifetime(self) {} }
    return await withCheckedContinuation { continuation in
      ending.call { continuation.resume(returning: $0) }
    }
  }

  /// Waits for the end on this thread; returns the exit status, or minus the signal that ended the program.
  @discardableResult
  package func waitUntilEnd() -> Int32 {
    let ended = DispatchSemaphore(value: 0)
    ending.call { _ in ended.signal() }
    ended.wait()
    return ending.status ?? 0
  }

  /// True until the program has ended.
  package var isRunning: Bool { ending.status == nil }

  /// Sends a signal, unless the program has ended: its number may belong to another process then.
  package func send(_ signal: Int32) { ending.send(signal, to: processIdentifier) }
}

/// The exit status of a program, once it has one.
private final class Ending: Sendable {
  private struct State {
    var status: Int32?
    var calls: [@Sendable (Int32) -> Void] = []
  }
  private let state = Mutex(State())

  var status: Int32? { state.withLock { $0.status } }

  /// Calls the function with the status: at once, or when the program ends.
  func call(_ function: @escaping @Sendable (Int32) -> Void) {
    let status = state.withLock { state in
      if state.status == nil { state.calls.append(function) }
      return state.status
    }
    if let status { function(status) }
  }

  func send(_ signal: Int32, to identifier: pid_t) {
    state.withLock { if $0.status == nil { kill(identifier, signal) } }
  }

  /// Waits on this thread until the program ends.
  func waitForEnd(of identifier: pid_t) {
    var information = siginfo_t()
    // The number remains that of the program until `waitpid`, which the lock separates from `kill`.
    while waitid(P_PID, id_t(identifier), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    let (status, calls) = state.withLock { state in
      var code: Int32 = 0
      while waitpid(identifier, &code, 0) < 0, errno == EINTR {}
      let status = code & 0x7f == 0 ? (code >> 8) & 0xff : -(code & 0x7f)
      state.status = status
      defer { state.calls = [] }
      return (status, state.calls)
    }
    for call in calls { call(status) }
  }
}
