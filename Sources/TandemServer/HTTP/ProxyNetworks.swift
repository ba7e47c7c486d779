internal import SystemLibrary

/// The addresses of proxies that name their clients in `X-Forwarded-For`.
///
/// The field `Forwarded` (RFC 7239) is not read: most proxies pass on what a client has sent in it.
package struct ProxyNetworks: Sendable {
  private struct Network: Sendable {
    let bytes: [UInt8]
    let bitCount: Int

    func contains(_ address: [UInt8]) -> Bool {
      (0..<bitCount).allSatisfy { bit in
        (bytes[bit / 8] ^ address[bit / 8]) & (0x80 >> (bit % 8)) == 0
      }
    }
  }

  private var networks: [Network] = []

  /// No address.
  package init() {}

  /// Addresses and networks, such as `127.0.0.1,10.0.0.0/8,fd00::/8`; `nil` if one of them is none.
  package init?(_ text: String) {
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let sides = part.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
      guard let bytes = addressBytes(sides[0]) else { return nil }
      let width = sides[0].contains(":") ? 128 : 32
      guard let count = sides.count == 2 ? Int(sides[1]) : width, (0...width).contains(count)
      else { return nil }
      networks.append(Network(bytes: bytes, bitCount: 128 - width + count))
    }
  }

  /// The address of the client that sent a request: the last one that is not the address of a proxy.
  ///
  /// Each proxy appends the address that it has the request from. What stands before the address of a stranger is what the
  /// stranger says.
  ///
  /// - Parameter peer: The address at the other end of the connection.
  func client(behind peer: String?, _ fields: [(name: String, value: String)]) -> String? {
    guard !networks.isEmpty, var address = peer, var bytes = addressBytes(address) else {
      return peer
    }
    var rest = fields.filter { $0.name.asciiLowercased == "x-forwarded-for" }
      .flatMap { $0.value.split(separator: ",", omittingEmptySubsequences: false) }
    while networks.contains(where: { $0.contains(bytes) }), let last = rest.popLast(),
      let next = addressBytes(Self.withoutPort(last))
    {
      bytes = next
      address = addressText(next)
    }
    return address
  }

  /// The address in `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`.
  private static func withoutPort(_ text: Substring) -> Substring {
    var text = text.drop { $0 == " " || $0 == "\t" }
    while text.last == " " || text.last == "\t" { text.removeLast() }
    if text.hasPrefix("[") { return text.dropFirst().prefix { $0 != "]" } }
    return text.filter { $0 == ":" }.count == 1 ? text.prefix { $0 != ":" } : text
  }
}

/// The 16 bytes of an address, in which one of IPv4 is mapped; `nil` if the text is none.
private func addressBytes(_ text: some StringProtocol) -> [UInt8]? {
  let text = String(text.prefix { $0 != "%" })
  var bytes = [UInt8](repeating: 0, count: 16)
  if inet_pton(AF_INET6, text, &bytes) == 1 { return bytes }
  guard inet_pton(AF_INET, text, &bytes) == 1 else { return nil }
  return [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + bytes.prefix(4)
}

/// The usual text of an address.
private func addressText(_ bytes: [UInt8]) -> String {
  if bytes.prefix(10).allSatisfy({ $0 == 0 }), bytes[10...11] == [0xFF, 0xFF] {
    return bytes.suffix(4).map { "\($0)" }.joined(separator: ".")
  }
  var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
  _ = inet_ntop(AF_INET6, bytes, &text, socklen_t(text.count))
  return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
}
