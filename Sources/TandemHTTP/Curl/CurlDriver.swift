#if canImport(CCurl) && !canImport(Darwin)
  import CCurl

  /// The loop of the thread that runs the transfers; every method is called on it.
  final class CurlDriver {
    /// The maximum number of easy handles kept for reuse: making one costs more than a small
    /// transfer.
    private static let maxSpareHandleCount = 64
    /// The maximum sleep without a deadline; a command or a byte wakes the thread earlier.
    private static let maxSleep = Duration.seconds(60)

    /// The number of hosts for which all connections are kept open for reuse; with more hosts, the oldest
    /// connections are closed. libcurl's own bound follows the number of running transfers.
    private static let maxBusyHostCount = 4
    /// The maximum number of connections, even if more files may be open.
    private static let maxConnectionCount = 1 << 16

    private let inbox: CurlInbox
    private let options: HTTPClientOptions
    private let now: () -> ContinuousClock.Instant
    private let news = CurlNews()
    private let sockets: CurlSockets
    private var transfers: [CurlOrder.ID: CurlTransfer] = [:]
    private var spareHandles: [UnsafeMutableRawPointer] = []
    private var nextLook: ContinuousClock.Instant?
    private var multi: UnsafeMutableRawPointer { sockets.multi }

    init(
      inbox: CurlInbox, sockets: CurlSockets, options: HTTPClientOptions,
      now: @escaping () -> ContinuousClock.Instant
    ) {
      self.inbox = inbox
      self.sockets = sockets
      self.options = options
      self.now = now
    }

    /// Runs transfers until the stop command.
    ///
    /// Readers are woken once a round, after everything that could be received has been: a small
    /// response is then complete when its reader sees it, which saves a change of threads.
    func run() {
      limitConnections()
      while handleCommands() {
        collectEnded()
        endTimedOut()
        wakeReaders()
        sockets.wait(inbox.beginSleep() ? sleepLimit : .zero)
      }
      for handle in spareHandles { curl_easy_cleanup(handle) }
    }

    private func limitConnections() {
      let total = min(DescriptorBudget.current.maxConnectionCount, Self.maxConnectionCount)
      let connections = min(max(1, options.maxConnectionCountPerHost), total)
      ccurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, connections)
      ccurl_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, total)
      ccurl_multi_set_long(
        multi, CURLMOPT_MAXCONNECTS, min(connections * Self.maxBusyHostCount, total))
    }

    /// Handles the commands; returns false after the stop command.
    private func handleCommands() -> Bool {
      for command in inbox.takeAll() {
        switch command {
        case .start(let order): start(order)
        case .resume(let id): transfers[id]?.resume()
        case .cancel(let id): transfers[id].map { end($0, CURLE_ABORTED_BY_CALLBACK) }
        case .stop: return false
        }
      }
      return true
    }

    private func start(_ order: CurlOrder) {
      guard let easy = spareHandles.popLast() ?? curl_easy_init() else {
        let error = TransportError(.unavailable, "libcurl has no memory", url: order.request.url)
        order.exchange.record { $0.ended(error) }
        return order.exchange.deliver()
      }
      let transfer = CurlTransfer(order, easy: easy, options: options, news: news, now: now())
      transfers[order.id] = transfer
      let look = transfer.nextLook
      nextLook = nextLook.map { min($0, look) } ?? look
      if curl_multi_add_handle(multi, easy) != CURLM_OK { end(transfer, CURLE_OUT_OF_MEMORY) }
    }

    private func collectEnded() {
      var remainingCount: CInt = 0
      while let message = curl_multi_info_read(multi, &remainingCount) {
        // The message is gone as soon as the handle is removed.
        let (easy, code) = (message.pointee.easy_handle, message.pointee.data.result)
        var context: UnsafeMutableRawPointer?
        ccurl_get_pointer(easy, CURLINFO_PRIVATE, &context)
        guard message.pointee.msg == CURLMSG_DONE, let context else { continue }
        end(Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue(), code)
      }
    }

    private func endTimedOut() {
      let now = self.now()
      guard let look = nextLook, look <= now else { return }
      for transfer in transfers.values where transfer.hasTimedOut(at: now) {
        end(transfer, CURLE_ABORTED_BY_CALLBACK)
      }
      nextLook = transfers.values.map(\.nextLook).min()
    }

    /// Takes the transfer off its connection, which libcurl keeps only if it is in good order.
    private func end(_ transfer: CurlTransfer, _ code: CURLcode) {
      transfer.ended(code)
      transfers[transfer.id] = nil
      curl_multi_remove_handle(multi, transfer.easy)
      if spareHandles.count < Self.maxSpareHandleCount {
        curl_easy_reset(transfer.easy)
        spareHandles.append(transfer.easy)
      } else {
        curl_easy_cleanup(transfer.easy)
      }
    }

    private func wakeReaders() {
      for transfer in news.transfers {
        transfer.hasNews = false
        transfer.exchange.deliver()
      }
      news.transfers.removeAll(keepingCapacity: true)
    }

    /// Until the next look for timeouts.
    private var sleepLimit: Duration {
      let look = nextLook.map { now().duration(to: $0) } ?? Self.maxSleep
      return min(max(.zero, look), Self.maxSleep)
    }
  }
#endif
