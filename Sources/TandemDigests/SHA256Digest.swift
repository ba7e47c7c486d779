/// A SHA-256 digest (FIPS 180-4).
public struct SHA256Digest: Hashable, Sendable {
  static let byteCount = 32

  private let bytes: [UInt8]

  /// A digest of 32 bytes.
  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The digest of `content`.
  public init(of content: some Collection<UInt8>) {
    var hash = SHA256()
    Array(content).withUnsafeBytes { hash.update($0) }
    self = hash.finalized()
  }

  /// The keyed digest of a message: HMAC with SHA-256 (RFC 2104).
  package init(of message: [UInt8], key: [UInt8]) {
    // A key that is longer than a block of the hash is replaced by its digest.
    var block = key.count > 64 ? SHA256Digest(of: key).bytes : key
    block += [UInt8](repeating: 0, count: 64 - block.count)
    let inner = SHA256Digest(of: block.map { $0 ^ 0x36 } + message)
    self = SHA256Digest(of: block.map { $0 ^ 0x5C } + inner.bytes)
  }

  /// The digest written in 64 hexadecimal digits of either case; `nil` for any other text.
  public init?(hexadecimal text: String) {
    let digits = text.utf8.compactMap { byte -> UInt8? in
      switch byte {
      case 0x30...0x39: byte - 0x30
      case 0x41...0x46, 0x61...0x66: (byte | 0x20) - 0x57
      default: nil
      }
    }
    guard digits.count == 64, text.utf8.count == 64 else { return nil }
    bytes = stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}

extension SHA256Digest: CustomStringConvertible {
  /// The digest in 64 hexadecimal digits, in lower case.
  public var description: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xF)]] }, as: UTF8.self)
  }
}
