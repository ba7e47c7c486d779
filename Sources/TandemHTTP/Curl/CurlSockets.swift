#if canImport(CCurl) && !canImport(Darwin)
  import CCurl

  /// The sockets of a multi handle, watched by epoll: what a round costs follows the sockets that have
  /// something to say, not all that are open. Used by the thread that runs the transfers only.
  final class CurlSockets {
    let multi: UnsafeMutableRawPointer
    private let poll: CInt
    /// The descriptor that other threads write to in order to wake the thread.
    private let wakeup: CInt
    private var watched: Set<CInt> = []
    /// The moment at which libcurl asks to be called, even without events of its sockets.
    private var deadline: ContinuousClock.Instant?
    private var events = [ccurl_socket_event](repeating: .init(), count: maxEventCount)

    /// The maximum number of socket events that are taken from the system at a time.
    private static let maxEventCount = 64

    /// Takes over `multi` and `poll`, and watches `wakeup`.
    init(multi: UnsafeMutableRawPointer, poll: CInt, wakeup: CInt) {
      self.multi = multi
      self.poll = poll
      self.wakeup = wakeup
      ccurl_watch(poll, wakeup, CURL_POLL_IN, 0)
      let context = Unmanaged.passUnretained(self).toOpaque()
      ccurl_multi_set_callbacks(
        multi, context,
        { _, socket, interest, context, _ in
          context.map { CurlSockets.at($0).watch(socket, interest) }
          return 0
        },
        { _, milliseconds, context in
          context.map { CurlSockets.at($0).setTimer(milliseconds) }
          return 0
        })
    }

    deinit {
      // libcurl would tell of each socket it closes.
      ccurl_multi_set_callbacks(multi, nil, nil, nil)
      curl_multi_cleanup(multi)
      ccurl_close(poll)
      ccurl_close(wakeup)
    }

    private static func at(_ context: UnsafeMutableRawPointer) -> CurlSockets {
      Unmanaged.fromOpaque(context).takeUnretainedValue()
    }

    private func watch(_ socket: CInt, _ interest: CInt) {
      let isKnown = watched.contains(socket)
      if interest == CURL_POLL_REMOVE { watched.remove(socket) } else { watched.insert(socket) }
      ccurl_watch(poll, socket, interest, isKnown ? 1 : 0)
    }

    private func setTimer(_ milliseconds: Int) {
      deadline = milliseconds < 0 ? nil : .now + .milliseconds(milliseconds)
    }

    /// Waits until there is something to do, or for as long as `limit`, and has libcurl do it.
    func wait(_ limit: Duration) {
      let rest = deadline.map { ContinuousClock.now.duration(to: $0) } ?? limit
      let count = ccurl_wait(
        poll, &events, CInt(Self.maxEventCount), Self.milliseconds(min(limit, rest)))
      var runningCount: CInt = 0
      for event in events.prefix(Int(max(0, count))) {
        if event.socket == wakeup {
          ccurl_wakeup_clear(wakeup)
        } else {
          curl_multi_socket_action(multi, event.socket, event.actions, &runningCount)
        }
      }
      if let deadline, deadline <= .now {
        self.deadline = nil
        curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &runningCount)
      }
    }

    /// Not less than the duration, lest the thread wake for nothing; 0 for one that is over.
    private static func milliseconds(_ duration: Duration) -> CInt {
      duration <= .zero ? 0 : CInt(duration / .milliseconds(1)) + 1
    }

  }
#endif
