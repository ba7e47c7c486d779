import Foundation

/// A TCP connection of a client that sends any bytes. It blocks threads of its own, not those of tasks.
final class RawConnection: Sendable {
  private let descriptor: Int32

  /// Connects to a port of this machine. A buffer for received bytes may be given in bytes.
  init(port: UInt16, receiveBufferByteCount: Int32? = nil) throws {
    #if canImport(Glibc)
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    if var count = receiveBufferByteCount {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &count, socklen_t(MemoryLayout<Int32>.size))
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let status = withUnsafePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
  }

  deinit { close(descriptor) }

  /// Sends bytes; returns false if the server has closed the connection.
  @discardableResult
  func send(_ bytes: [UInt8]) async -> Bool {
    await blocking { descriptor in
      var sent = 0
      while sent < bytes.count {
        let count = bytes.withUnsafeBytes {
          Foundation.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Self.flags)
        }
        guard count > 0 else { return false }
        sent += count
      }
      return true
    }
  }

  @discardableResult
  func send(_ text: String) async -> Bool { await send(Array(text.utf8)) }

  /// Sends no more.
  func finish() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Receives bytes until `isEnough`, or until the end of the connection.
  func receive(until isEnough: @escaping @Sendable ([UInt8]) -> Bool = { _ in false }) async
    -> [UInt8]
  {
    await blocking { descriptor in
      var bytes: [UInt8] = []
      var chunk = [UInt8](repeating: 0, count: 64 << 10)
      while !isEnough(bytes) {
        let count = recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { break }
        bytes += chunk[..<count]
      }
      return bytes
    }
  }

  /// Receives until the text contains a part, or until the end.
  func text(until part: String) async -> String {
    String(
      decoding: await receive { String(decoding: $0, as: UTF8.self).contains(part) },
      as: UTF8.self)
  }

  /// Receives an answer of declared length; returns its status and its body, or `nil` if the
  /// connection ends before.
  func answer() async -> (status: Int, head: String, body: [UInt8])? {
    let bytes = await receive { Self.answer(in: $0) != nil }
    return Self.answer(in: bytes)
  }

  private static func answer(in bytes: [UInt8]) -> (status: Int, head: String, body: [UInt8])? {
    guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
    let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
    let words = head.split(separator: " ")
    guard words.count > 1, let status = Int(words[1]) else { return nil }
    let length = head.split(separator: "\r\n").lazy
      .first { $0.lowercased().hasPrefix("content-length:") }
      .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) }
    let body = Array(bytes[end.upperBound...])
    guard let length, body.count >= length else { return nil }
    return (status, head, Array(body.prefix(length)))
  }

  /// A write to a connection that was closed is an error, not a signal.
  private static let flags = Int32(MSG_NOSIGNAL)

  private func blocking<Result: Sendable>(
    _ body: @escaping @Sendable (Int32) -> Result
  ) async -> Result {
    let descriptor = descriptor
    return await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        // The connection lives at least as long as the call.
        continuation.resume(returning: withExtendedLifetime(self) { body(descriptor) })
      }
    }
  }
}
