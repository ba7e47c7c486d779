#if canImport(CCurl) && !canImport(Darwin)
  import CCurl
  import Synchronization

  /// What other threads ask of the thread that runs the transfers.
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

  /// The way into the thread that runs the transfers, and the multi handle that wakes it.
  final class CurlInbox: Sendable {
    /// libcurl's multi handle. Only the thread that takes the commands may use it, but for
    /// `curl_multi_wakeup`, which libcurl allows from any thread; that is what makes sharing it
    /// safe. It is freed by that thread on `.stop`, after which nobody posts.
    nonisolated(unsafe) let multi: UnsafeMutableRawPointer
    private let commands = Mutex<[CurlCommand]>([])

    init(multi: UnsafeMutableRawPointer) { self.multi = multi }

    /// Adds a command and wakes the thread, unless an earlier command has done so.
    func post(_ command: CurlCommand) {
      let isFirst = commands.withLock {
        $0.append(command)
        return $0.count == 1
      }
      if isFirst { curl_multi_wakeup(multi) }
    }

    /// Removes all commands, in the order they were posted.
    func takeAll() -> [CurlCommand] {
      commands.withLock { commands in
        defer { commands = [] }
        return commands
      }
    }
  }
#endif
