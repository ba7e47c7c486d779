import Tandem

/// The functions of SQLite's extension `uuid`, which many applications use for primary keys.
enum IdentifierFunctions {
  static let all = [
    DatabaseFunction("uuid") { UUIDBytes.text(of: randomBytes()) },
    DatabaseFunction("uuid_str", isDeterministic: true) { (value: FieldValue) in
      bytes(value).flatMap(UUIDBytes.text)
    },
    DatabaseFunction("uuid_blob", isDeterministic: true) { (value: FieldValue) in bytes(value) },
  ]

  /// The bytes of a random UUID, by RFC 9562.
  private static func randomBytes() -> [UInt8] {
    var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    return bytes
  }

  /// The bytes of a UUID in a blob or in a text; `nil` for any other value.
  private static func bytes(_ value: FieldValue) -> [UInt8]? {
    switch value {
    case .blob(let bytes): return bytes.count == 16 ? bytes : nil
    case .text(let text): return UUIDBytes.bytes(of: text)
    case .null, .integer, .real: return nil
    }
  }
}
