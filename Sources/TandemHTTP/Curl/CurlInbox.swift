#if canImport(CCurl) && !canImport(Darwin)
  import CCurl
  import Synchronization

  /// A command to the thread that runs the transfers.
  enum CurlCommand: Sendable {
    case start(CurlOrder)
    case resume(CurlOrder.ID)
    case cancel(CurlOrder.ID)
    /// There will be no further commands; end the thread.
    case stop
  }

  /// A transfer to be made.
  struct CurlOrder: Identifiable, Sendable {
    var id: UInt64
    var request: HTTPRequest
    var exchange: ResponseExchange
  }

  /// The way into the thread that runs the transfers, and what wakes it.
  final class CurlInbox: Sendable {
    /// An eventfd that the thread watches. It is closed by that thread on `.stop`, after which nobody
    /// posts.
    let wakeup: CInt
    private let state = Mutex(State())

    private struct State {
      var commands: [CurlCommand] = []
      var isTakerAsleep = false
    }

    init(wakeup: CInt) { self.wakeup = wakeup }

    /// Adds a command and wakes the thread if it sleeps.
    func post(_ command: CurlCommand) {
      let wasAsleep = state.withLock { state in
        defer { state.isTakerAsleep = false }
        state.commands.append(command)
        return state.isTakerAsleep
      }
      if wasAsleep { ccurl_wakeup(wakeup) }
    }

    /// Returns true if the thread may sleep until a command wakes it; false if there is a command already.
    func beginSleep() -> Bool {
      state.withLock { state in
        state.isTakerAsleep = state.commands.isEmpty
        return state.isTakerAsleep
      }
    }

    /// Removes all commands, in the order they were posted, after the thread has slept.
    func takeAll() -> [CurlCommand] {
      state.withLock { state in
        defer { state = State() }
        return state.commands
      }
    }
  }
#endif
