internal import TandemHTTP
internal import TandemRecords

extension HTTPResponseStream {
  /// Checks that the response has the whole content, as ``HTTPResponseHead/requireContent()`` does; the error has
  /// the reason that the server gives, unless that repeats a secret.
  func requireContent(hiding secrets: ListSecrets) async throws {
    do throws(TransportError) {
      try head.requireContent()
    } catch {
      var error = error
      if let reason = await ServerReason(of: self)?.text, !secrets.areRepeated(in: reason) {
        error.message += "; the server says: \"\(reason)\""
      }
      try Task.checkCancellation()
      throw error
    }
  }
}

/// The reason that a server gives for a status that is no success.
struct ServerReason: Equatable {
  /// One line without control characters.
  let text: String

  /// The maximum number of bytes of a body that are read for it.
  static let maxBodyByteCount = 16 << 10
  /// The maximum length of a reason in a message, in characters; the rest is left out.
  static let maxLength = 200
  /// The fields of an object with the reason, the best first (RFC 9457 has `detail` and `title`).
  private static let names = [
    "message", "detail", "error_description", "error", "errors", "msg", "reason", "title",
    "description",
  ]
  /// The maximum number of objects and arrays that the reason may stand in.
  private static let maxDepth = 4

  /// The reason in the body of a response; `nil` if there is none, or it cannot be read.
  init?(of stream: HTTPResponseStream) async {
    var body: [UInt8] = []
    do {
      for try await chunk in stream.body {
        body += chunk
        if body.count >= Self.maxBodyByteCount { break }
      }
    } catch {
      // The status says enough. A cancellation is found by the caller.
      return nil
    }
    self.init(in: body.prefix(Self.maxBodyByteCount))
  }

  /// The reason in a body: a field of a JSON object, or the first line of a text that is no markup.
  init?(in body: some Collection<UInt8>) {
    guard let first = body.first(where: { $0 > 0x20 }), first != UInt8(ascii: "<") else {
      return nil
    }
    let isJSON = [UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\"")].contains(first)
    let line: String?
    if isJSON {
      line = (try? JSONValue(parsing: body)).flatMap { Self.reason(in: $0, depth: 0) }
    } else {
      let bytes = body.drop { $0 <= 0x20 }.prefix { $0 != 0x0A && $0 != 0x0D }
      line = String(validating: bytes, as: UTF8.self)
    }
    guard let line, !line.isEmpty else { return nil }
    let isLonger = line.count > Self.maxLength
    text = (line.prefix(Self.maxLength) + (isLonger ? "…" : "")).description.escapingControls()
  }

  private static func reason(in value: JSONValue, depth: Int) -> String? {
    guard depth <= maxDepth else { return nil }
    switch value {
    case .string(let text): return text.isEmpty ? nil : text
    case .array(let elements):
      return elements.first.flatMap { reason(in: $0, depth: depth + 1) }
    case .object(let fields):
      for name in names {
        let field = fields.first { isSameName($0.key, name) }
        if let found = field.flatMap({ reason(in: $0.value, depth: depth + 1) }) { return found }
      }
      return nil
    case .null, .bool, .number: return nil
    }
  }
}
