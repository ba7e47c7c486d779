internal import CMicroHTTP
internal import Synchronization
internal import SystemLibrary

// The library reads a certificate when a daemon starts. So a renewed certificate needs a new daemon,
// which takes the socket over. The former daemon retires: its connections end with their next
// answer, its event streams at once, and it stops when it has no connection.

extension HTTPServer.State {
  /// All daemons; the last one accepts connections.
  var daemons: [HTTPServer.Daemon] { retired + (daemon.map { [$0] } ?? []) }
}

extension HTTPServer {
  /// Uses another certificate for connections from now on. Clients of event streams connect again. The same
  /// certificate changes nothing: each new daemon costs a thread until the former one is idle.
  ///
  /// - Throws: ``ServerError`` with code `certificate` if the certificate and the key cannot be used:
  ///   then the former ones stay in use.
  package func renew(_ identity: Identity) throws(ServerError) {
    // Under the lock, so that the socket is open.
    let socket = state.withLock { state -> Int32? in
      guard !state.isStopping, let daemon = state.daemon, daemon.identity != identity else {
        return nil
      }
      return fcntl(daemon.socket, F_DUPFD_CLOEXEC, 0)
    }
    guard let socket else { return }
    guard socket >= 0 else {
      throw ServerError(.address, "the certificate cannot be renewed: \(systemReason())")
    }
    let daemon = try start(socket, identity)
    let (former, isStopping) = state.withLock { state -> (Daemon?, Bool) in
      guard !state.isStopping, let former = state.daemon else { return (nil, true) }
      state.retired.append(former)
      state.daemon = daemon
      return (former, false)
    }
    if let former { closeSocket(of: former) }
    if isStopping { MHD_stop_daemon(daemon.pointer) }
  }

  /// Ends the streams of daemons that have retired, and stops those without a connection.
  func stopIdleDaemons() {
    let retired = state.withLock { $0.retired }
    guard !retired.isEmpty else { return }
    let connections = connections.withLock { connections in
      connections.values.filter { connection in
        retired.contains { $0.pointer == connection.daemon }
      }
    }
    for connection in connections { connection.stream?.end() }
    let idle = state.withLock { state -> [Daemon] in
      guard !state.isStopping else { return [] }
      var idle: [Daemon] = []
      for place in state.retired.indices.reversed() {
        let daemon = state.retired[place]
        let isIdle = !connections.contains { $0.daemon == daemon.pointer }
        // A connection may have been accepted just before the daemon retired: it is seen at this look.
        if isIdle, daemon.isIdle {
          idle.append(state.retired.remove(at: place))
        } else {
          state.retired[place].isIdle = isIdle
        }
      }
      return idle
    }
    for daemon in idle { MHD_stop_daemon(daemon.pointer) }
  }
}
