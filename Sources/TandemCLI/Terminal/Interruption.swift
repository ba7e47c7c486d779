internal import Dispatch

/// Ctrl-C and a request to terminate, as an event instead of the end of the process. A second one of
/// either kind ends the process after all.
final class Interruption {
  private let sources: [any DispatchSourceSignal]

  private static let signals = [SIGINT, SIGTERM]

  /// Calls `body` when the process is to end; from the return on, no signal is missed.
  init(_ body: @escaping @Sendable () -> Void) {
    let registrations = DispatchSemaphore(value: 0)
    sources = Self.signals.map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        Self.leaveToSystem()
        body()
      }
      source.setRegistrationHandler { registrations.signal() }
      source.activate()
      return source
    }
    // A signal that comes before is ignored, as the lines above ask for.
    for _ in sources { registrations.wait() }
  }

  /// Leaves signals to the system again.
  func end() {
    for source in sources { source.cancel() }
    Self.leaveToSystem()
  }

  private static func leaveToSystem() {
    for number in signals { signal(number, SIG_DFL) }
  }
}
