import TandemChannels

@testable import TandemTransports

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A port of loopback at which nobody listens, nor can: who listened there and left would leave it to
/// another test.
final class ReservedPort {
  private let descriptor: SocketDescriptor
  let number: UInt16

  init() throws {
    let loopback = SocketAddress.tcp(host: SocketAddress.loopback, port: 0)
    let descriptor = try SystemSockets.open(loopback, isPassive: true) { descriptor, name, count in
      bind(descriptor.number, name, count) == 0
    }
    var name = sockaddr_in()
    var count = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = getsockname(descriptor.number, $0, &count)
      }
    }
    self.descriptor = descriptor
    number = UInt16(bigEndian: name.sin_port)
  }
}
