/// The line and the header of a request that an ``HTTPServer`` has received.
public struct ServedRequestHead: Sendable {
  /// The method, such as `GET`.
  public let method: String
  /// The path, percent-encoded as it was sent, without the query.
  public let path: String
  /// The query, percent-encoded as it was sent; `nil` if there is none.
  public let query: String?
  /// The fields of the header in their order; the names are in lower case.
  public let fields: [(name: String, value: String)]
  /// True if only programs of this machine can have sent the request.
  public let isLocal: Bool
  /// The number of the client's address; `nil` if it is unknown.
  public let address: String?

  /// A head.
  ///
  /// - Parameters:
  ///   - method: The method, such as `GET`.
  ///   - target: The path and the query.
  ///   - fields: The header; names may have any case.
  ///   - isLocal: True if only programs of this machine can have sent the request.
  ///   - address: The number of the client's address.
  public init(
    method: String, target: String, fields: [(name: String, value: String)] = [],
    isLocal: Bool = true, address: String? = nil
  ) {
    self.method = method
    self.isLocal = isLocal
    self.address = address
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = String(parts[0])
    query = parts.count == 2 ? String(parts[1]) : nil
    self.fields = fields.map { ($0.name.asciiLowercased, $0.value) }
  }

  /// The value of a field, by its name in lower case; `nil` if it is absent or occurs several times.
  public func field(_ name: String) -> String? {
    let values = fields.filter { $0.name == name }
    return values.count == 1 ? values[0].value : nil
  }

  /// The segments of the path, decoded; `nil` if one is not percent-encoded UTF-8.
  public var segments: [String]? {
    guard path.hasPrefix("/") else { return nil }
    var segments: [String] = []
    for part in path.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
      guard let segment = String(percentEncoded: part) else { return nil }
      segments.append(segment)
    }
    return segments
  }

  /// The parameters of the query, decoded, in their order; `nil` if one is not percent-encoded UTF-8.
  public var parameters: [(name: String, value: String)]? {
    var parameters: [(String, String)] = []
    for part in (query ?? "").split(separator: "&") {
      let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = String(percentEncoded: sides[0]),
        let value = String(percentEncoded: sides.count == 2 ? sides[1] : "")
      else { return nil }
      parameters.append((name, value))
    }
    return parameters
  }

  /// The declared length of the body, in bytes; `nil` if none is declared.
  var contentLength: Int? { field("content-length").flatMap { Int($0) } }

  /// True if a program before this server might see another end of the request, another host, or other values.
  var isAmbiguous: Bool {
    let lengths = fields.filter { $0.name == "content-length" }
    let codings = fields.filter { $0.name == "transfer-encoding" }
    return lengths.count + codings.count > 1 || fields.filter { $0.name == "host" }.count > 1
      || codings.contains { $0.value.asciiLowercased != "chunked" }
      || fields.contains { Self.isFoldedFraming($0.name) }
      || !fields.allSatisfy { $0.name.utf8.allSatisfy(\.isTokenCharacter) }
      || !fields.allSatisfy { $0.value.utf8.allSatisfy(\.isValueCharacter) }
      || !path.utf8.allSatisfy(\.isTargetCharacter)
      || query?.utf8.allSatisfy(\.isTargetCharacter) == false
  }

  /// True if a name is that of a framing field and more. libmicrohttpd 0.9.75 appends the continuation of a folded
  /// line to the name of its field, and then overlooks the field.
  private static func isFoldedFraming(_ name: String) -> Bool {
    ["content-length", "transfer-encoding"].contains { name.hasPrefix($0) && name != $0 }
  }

  /// True if the request has a body.
  var hasBody: Bool { contentLength ?? 0 > 0 || field("transfer-encoding") != nil }

  /// True if requests of this method have bodies.
  var mayHaveBody: Bool { ["POST", "PUT", "PATCH"].contains(method) }

  /// True if the client accepts an answer in gzip.
  var acceptsGzip: Bool {
    (field("accept-encoding") ?? "").split(separator: ",").contains { part in
      let parts = part.split(separator: ";").map { $0.filter { $0 != " " }.asciiLowercased }
      let isRefused = parts.dropFirst().contains {
        $0.hasPrefix("q=0") && Double($0.dropFirst(2)) == 0
      }
      return parts.first == "gzip" && !isRefused
    }
  }
}

extension UInt8 {
  /// True for a character of a field's name (RFC 9110, section 5.6.2).
  fileprivate var isTokenCharacter: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "!#$%&'*+-.^_`|~".utf8.contains(self)
    }
  }

  /// True for a character of a field's value (RFC 9110, section 5.5).
  fileprivate var isValueCharacter: Bool { self == 0x09 || self >= 0x20 && self != 0x7F }

  /// True for a character that may stand in a target. Some clients send bytes beyond ASCII as they are.
  fileprivate var isTargetCharacter: Bool { self > 0x20 && self != 0x7F }
}
