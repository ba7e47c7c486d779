import Dispatch
import Foundation
import Synchronization

/// A relay to a server on loopback that counts the bytes in both directions: those of event streams, and
/// those of all other requests.
final class CountingRelay: Sendable {
  struct Counts: Sendable {
    var requests = 0
    var events = 0
  }

  let port: UInt16
  private let listener: Int32
  private let serverPort: UInt16
  private let state = Mutex(Counts())

  init(to serverPort: UInt16) throws {
    self.serverPort = serverPort
    #if canImport(Glibc)
      listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      listener = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = listener
    let isListening = withUnsafeMutablePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 && listen(descriptor, 64) == 0
          && getsockname(descriptor, $0, &size) == 0
      }
    }
    guard isListening else { throw Program.Failure(description: "cannot listen") }
    port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread { [self] in accept() }
  }

  /// The bytes so far.
  var counts: Counts { state.withLock { $0 } }

  /// Ends the relay. Connections end with their peers.
  func end() { shutdown(listener, Int32(SHUT_RDWR)) }

  private func accept() {
    while case let client = Foundation.accept(listener, nil, nil), client >= 0 {
      guard let server = try? SpaceConnection(port: serverPort) else { break }
      let pair = Pair(client: client, server: server)
      Thread.detachNewThread { [self] in copy(from: client, to: pair.server.descriptor, pair) }
      Thread.detachNewThread { [self] in copy(from: pair.server.descriptor, to: client, pair) }
    }
    close(listener)
  }

  /// Both sides of a connection; closed when both directions have ended.
  ///
  /// Sendable: of the connection to the server, the threads only use the descriptor, which is constant.
  private final class Pair: @unchecked Sendable {
    let client: Int32
    let server: SpaceConnection
    /// True for a connection with a stream of events.
    let isEvents = Mutex(false)

    init(client: Int32, server: SpaceConnection) {
      self.client = client
      self.server = server
    }

    deinit { close(client) }
  }

  private func copy(from source: Int32, to destination: Int32, _ pair: Pair) {
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while case let count = recv(source, &chunk, chunk.count, 0), count > 0 {
      if source == pair.client, chunk[..<count].firstRange(of: Array("/events".utf8)) != nil {
        pair.isEvents.withLock { $0 = true }
      }
      let isEvents = pair.isEvents.withLock { $0 }
      state.withLock { counts in
        if isEvents { counts.events += count } else { counts.requests += count }
      }
      guard send(destination, chunk, count, 0) == count else { break }
    }
    shutdown(source, Int32(SHUT_RDWR))
    shutdown(destination, Int32(SHUT_RDWR))
  }
}
