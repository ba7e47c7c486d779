import Synchronization
import SystemLibrary

/// Other programs.
enum Program {
  /// Starts a program with standard input and output, and the named variables of this environment.
  static func start(
    _ path: String, _ arguments: [String], input: Int32 = STDIN_FILENO,
    output: Int32 = STDOUT_FILENO,
    variables: [String] = []
  ) throws -> pid_t {
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
    #else
      var actions = posix_spawn_file_actions_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if input != STDIN_FILENO { posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO) }
    if output != STDOUT_FILENO { posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO) }
    let environment = variables.compactMap { name in
      getenv(name).map { "\(name)=\(String(cString: $0))" }
    }
    var pid: pid_t = 0
    let status = withWords([path] + arguments) { words in
      withWords(environment) { environment in
        posix_spawn(&pid, path, &actions, nil, words, environment)
      }
    }
    guard status == 0 else {
      throw DemoError("\(path) does not start: \(String(cString: strerror(status)))")
    }
    return pid
  }

  private static func withWords<Result>(
    _ texts: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    var words = texts.map { strdup($0) }
    defer { for word in words { free(word) } }
    words.append(nil)
    return words.withUnsafeMutableBufferPointer { body($0.baseAddress!) }
  }

  /// Sends a signal.
  static func signal(_ number: Int32, to pid: pid_t) { kill(pid, number) }

  /// The path of this program.
  static func own() throws -> String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    #if canImport(Darwin)
      var count = UInt32(buffer.count)
      guard _NSGetExecutablePath(&buffer, &count) == 0 else {
        throw DemoError("this program has no path")
      }
    #else
      guard readlink("/proc/self/exe", &buffer, buffer.count - 1) > 0 else {
        throw DemoError("/proc/self/exe cannot be read: \(String(cString: strerror(errno)))")
      }
    #endif
    return buffer.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }

  /// Opens an address in a browser, if there is somebody to look at it.
  static func openBrowser(_ url: String) -> Bool {
    #if canImport(Darwin)
      let opener = "/usr/bin/open"
    #else
      let opener = "/usr/bin/xdg-open"
      guard getenv("DISPLAY") != nil || getenv("WAYLAND_DISPLAY") != nil else { return false }
    #endif
    let names = [
      "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
      "HOME", "PATH",
    ]
    guard getenv("CI") == nil,
      let pid = try? start(opener, [url], output: STDERR_FILENO, variables: names)
    else {
      return false
    }
    var status: Int32 = 0
    return waitpid(pid, &status, 0) == pid && status == 0
  }
}

/// A value that comes once.
final class Once<Value: Sendable>: Sendable {
  private struct State {
    var value: Value?
    var waiting: [CheckedContinuation<Value, Never>] = []
  }

  private let state = Mutex(State())

  /// Gives the value to all that wait for it. Later values are ignored.
  func come(_ value: Value) {
    let waiting = state.withLock { state in
      state.value = state.value ?? value
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume(returning: value) }
  }

  /// Waits for the value, also in a task that is cancelled.
  func value() async -> Value {
    await withCheckedContinuation { continuation in
      let value = state.withLock { state in
        if state.value == nil { state.waiting.append(continuation) }
        return state.value
      }
      if let value { continuation.resume(returning: value) }
    }
  }
}
