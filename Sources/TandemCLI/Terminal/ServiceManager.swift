/// Notifies systemd of the state of this process, by the protocol of `sd_notify(3)`: datagrams to the socket
/// that the environment names. Without such a socket, nothing is sent.
enum ServiceManager {
  #if canImport(Glibc) || canImport(Musl)
    /// Sends assignments such as `READY=1`, one per line.
    static func notify(_ text: String) {
      guard let path = value("NOTIFY_SOCKET") else { return }
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      var bytes = Array(path.utf8)
      guard bytes.first == UInt8(ascii: "/") || bytes.first == UInt8(ascii: "@"),
        bytes.count < MemoryLayout.size(ofValue: address.sun_path)
      else { return }
      // A name that begins with @ belongs to no file.
      if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
      let length = MemoryLayout<sa_family_t>.size + bytes.count
      #if canImport(Glibc)
        let type = Int32(SOCK_DGRAM.rawValue)
      #else
        let type = SOCK_DGRAM
      #endif
      let descriptor = socket(AF_UNIX, type | Int32(O_CLOEXEC), 0)
      guard descriptor >= 0 else { return }
      defer { close(descriptor) }
      let message = Array(text.utf8)
      withUnsafePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          _ = sendto(
            descriptor, message, message.count, Int32(MSG_NOSIGNAL), address,
            socklen_t(length))
        }
      }
    }

    /// Notifies that a reload begins (`Type=notify-reload`); `READY=1` ends it.
    static func notifyReload() {
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC, &time)
      let microseconds = Int(time.tv_sec) * 1_000_000 + Int(time.tv_nsec) / 1_000
      notify("RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
    }

    /// Shows systemd twice in each interval of its watchdog that this process runs tasks, until the
    /// task is cancelled.
    static func notifyWatchdog() async {
      guard let interval = value("WATCHDOG_USEC").flatMap({ Int($0) }), interval > 0,
        value("WATCHDOG_PID").map({ $0 == "\(getpid())" }) ?? true
      else { return }
      while !Task.isCancelled {
        notify("WATCHDOG=1")
        try? await Task.sleep(for: .microseconds(interval / 2))
      }
    }

    private static func value(_ name: String) -> String? {
      getenv(name).map { String(cString: $0) }
    }
  #else
    static func notify(_ text: String) {}
    static func notifyReload() {}
    static func notifyWatchdog() async {}
  #endif
}
