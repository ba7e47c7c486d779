internal import Dispatch

/// Handles SIGINT, SIGTERM and SIGHUP. The first one calls a closure instead of ending the process; the second one
/// ends it. SIGHUP may have a meaning of its own instead.
final class Interruption {
  private let sources: [any DispatchSourceSignal]

  /// A SIGHUP that is ignored stays so: `nohup` asks for that.
  private static let signals = [SIGINT, SIGTERM] + (isIgnored(SIGHUP) ? [] : [SIGHUP])

  private static func isIgnored(_ number: Int32) -> Bool {
    var action = sigaction()
    guard sigaction(number, nil, &action) == 0 else { return false }
    #if canImport(Darwin)
      let handler = action.__sigaction_u.__sa_handler
    #else
      let handler = action.__sigaction_handler.sa_handler
    #endif
    return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// Calls `body` with the number of the first signal. No signal is missed after the return.
  ///
  /// - Parameter reload: Called at each SIGHUP, also if it was ignored, unless the terminal of the process has closed:
  ///   that is a signal to end, as without this parameter.
  init(_ body: @escaping @Sendable (Int32) -> Void, reload: (@Sendable () -> Void)? = nil) {
    let registrations = DispatchSemaphore(value: 0)
    // Has one signal, for the first that comes.
    let first = DispatchSemaphore(value: 0)
    first.signal()
    let numbers = reload == nil ? Self.signals : [SIGINT, SIGTERM, SIGHUP]
    let terminals =
      Self.isIgnored(SIGHUP) ? [] : (STDIN_FILENO...STDERR_FILENO).filter { isatty($0) == 1 }
    sources = numbers.map { number in
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        if number == SIGHUP, let reload, terminals.allSatisfy({ isatty($0) == 1 }) {
          return reload()
        }
        Self.leaveToSystem(besides: reload == nil ? nil : SIGHUP)
        // While Dispatch takes a signal, it blocks that one in all threads: a second one soon after it comes here too.
        guard first.wait(timeout: .now()) == .success else { return Self.end(by: number) }
        body(number)
      }
      source.setRegistrationHandler { registrations.signal() }
      source.activate()
      return source
    }
    for _ in sources { registrations.wait() }
    // Until now, a signal ends the process. On Linux, the sources replace this action themselves.
    #if canImport(Darwin)
      for number in numbers { signal(number, SIG_IGN) }
    #endif
  }

  /// The name of a signal.
  static func name(of number: Int32) -> String {
    switch number {
    case SIGINT: "SIGINT"
    case SIGTERM: "SIGTERM"
    case SIGHUP: "SIGHUP"
    default: "signal \(number)"
    }
  }

  /// Restores the system's handling of the signals.
  func end() {
    for source in sources { source.cancel() }
    Self.leaveToSystem()
  }

  /// Ends the process as a signal does.
  private static func end(by number: Int32) {
    signal(number, SIG_DFL)
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, number)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    raise(number)
  }

  private static func leaveToSystem(besides kept: Int32? = nil) {
    for number in signals where number != kept { signal(number, SIG_DFL) }
  }
}
