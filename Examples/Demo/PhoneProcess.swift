import Dispatch
import Synchronization
import SystemLibrary

/// The process of a phone, as the supervisor sees it. The phone gets its settings on standard
/// input, and ends when that ends; so it never outlives the supervisor. It writes its address to
/// standard output.
final class PhoneProcess: Sendable {
  let pid: pid_t
  private let address = Once<String?>()
  private let end = Once<Void>()
  private struct State {
    /// The writing end of standard input, until the process is to end.
    var input: Int32?
    /// True once the number of the process may belong to another one.
    var hasEnded = false
  }
  private let state: Mutex<State>

  /// Starts a program, and waits until it serves.
  ///
  /// - Returns: The process, and its address.
  static func start(
    _ program: String, _ arguments: [String], settings: [UInt8]
  ) async throws -> (PhoneProcess, address: String) {
    let process = try PhoneProcess(program, arguments, settings)
    let address = await withTaskCancellationHandler {
      await process.address.value()
    } onCancel: {
      process.stop()
    }
    guard let address else {
      process.stop()
      throw DemoError("a phone ended at its start")
    }
    return (process, address)
  }

  private init(_ program: String, _ arguments: [String], _ settings: [UInt8]) throws {
    let input = try Pipe()
    let output = try Pipe()
    pid = try Program.start(program, arguments, input: input.reading, output: output.writing)
    close(input.reading)
    close(output.writing)
    state = Mutex(State(input: input.writing))
    let line = settings + [UInt8(ascii: "\n")]
    _ = write(input.writing, line, line.count)
    // Reading and waiting block their thread.
    DispatchQueue.global().async { [self] in
      address.come(readLine(from: output.reading))
      while readLine(from: output.reading) != nil {}
      close(output.reading)
      waitForEnd()
      end.come(())
    }
  }

  private func waitForEnd() {
    var information = siginfo_t()
    // The process keeps its number until the lock is held.
    while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    state.withLock { state in
      state.hasEnded = true
      _ = waitpid(pid, nil, 0)
    }
  }

  /// Kills the process by `kill -9`, whatever it is doing.
  func kill() {
    state.withLock { state in
      if !state.hasEnded { Program.signal(SIGKILL, to: pid) }
    }
  }

  /// Waits for the end of the process. If the task is cancelled, the process ends in good order.
  func ended() async {
    await withTaskCancellationHandler {
      await end.value()
    } onCancel: {
      stop()
    }
  }

  private func stop() {
    state.withLock { state in
      if let input = state.input { close(input) }
      state.input = nil
    }
  }

  private struct Pipe {
    let reading: Int32
    let writing: Int32

    init() throws {
      var ends: [Int32] = [0, 0]
      guard pipe(&ends) == 0 else {
        throw DemoError("no pipe: \(String(cString: strerror(errno)))")
      }
      // Otherwise another phone would keep them open.
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      (reading, writing) = (ends[0], ends[1])
    }
  }
}

/// Reads a line; `nil` at the end. Blocks this thread.
func readLine(from descriptor: Int32) -> String? {
  var bytes: [UInt8] = []
  var byte: UInt8 = 0
  while read(descriptor, &byte, 1) == 1 {
    if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
    bytes.append(byte)
  }
  return nil
}
