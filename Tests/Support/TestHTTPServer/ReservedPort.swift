internal import Foundation

/// A port of loopback that no other test gets. At first nobody listens there; a program that is told to may.
package final class ReservedPort {
  private let descriptor: Int32
  package let number: UInt16

  package init() throws {
    #if canImport(Darwin)
      let type = SOCK_STREAM
    #else
      let type = Int32(SOCK_STREAM.rawValue)
    #endif
    let descriptor = socket(AF_INET, type, 0)
    var reuses: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuses, socklen_t(MemoryLayout<Int32>.size))
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    var count = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
        bind(descriptor, name, count) == 0 ? getsockname(descriptor, name, &count) : -1
      }
    }
    self.descriptor = descriptor
    number = UInt16(bigEndian: name.sin_port)
    guard descriptor >= 0, result == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
  }

  deinit { close(descriptor) }
}
