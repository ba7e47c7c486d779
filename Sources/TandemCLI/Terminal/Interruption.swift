internal import Dispatch

/// Handles SIGINT, SIGTERM and SIGHUP. The first one calls a closure instead of ending the process; the second one
/// ends it.
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

  /// Calls `body` at the first signal. No signal is missed after the return.
  init(_ body: @escaping @Sendable () -> Void) {
    let registrations = DispatchSemaphore(value: 0)
    sources = Self.signals.map { number in
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        Self.leaveToSystem()
        body()
      }
      source.setRegistrationHandler { registrations.signal() }
      source.activate()
      return source
    }
    for _ in sources { registrations.wait() }
    // Until now, a signal ends the process. On Linux, the sources replace this action themselves.
    #if canImport(Darwin)
      for number in Self.signals { signal(number, SIG_IGN) }
    #endif
  }

  /// Restores the system's handling of the signals.
  func end() {
    for source in sources { source.cancel() }
    Self.leaveToSystem()
  }

  private static func leaveToSystem() {
    for number in signals { signal(number, SIG_DFL) }
  }
}
