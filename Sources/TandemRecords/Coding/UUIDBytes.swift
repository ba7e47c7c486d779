/// The forms of UUIDs in fields.
package enum UUIDBytes {
  /// The text of 16 bytes, in lower case; `nil` for another number of bytes.
  package static func text(of bytes: [UInt8]) -> String? {
    guard bytes.count == 16 else { return nil }
    return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { Array(bytes[$0]).hexadecimal }
      .joined(separator: "-")
  }

  /// The bytes of a text of 32 digits, with hyphens and braces wherever they are; `nil` for any other text.
  package static func bytes(of text: String) -> [UInt8]? {
    let bytes = [UInt8](hexadecimal: text.utf8.filter { !"-{}".utf8.contains($0) })
    return bytes?.count == 16 ? bytes : nil
  }

  /// The form of a UUID in a field; `nil` if it has none, because its column has values of another form.
  static func fieldValue(ofUUID text: String, _ coding: RecordCoding) -> FieldValue? {
    switch coding.uuids {
    case .lowercase: return .text(text.lowercased())
    case .uppercase: return .text(text.uppercased())
    case .blob: return bytes(of: text).map { .blob($0) }
    case .stored:
      switch coding.sample {
      case nil, .null?: return .text(text.lowercased())
      case .text(let sample)?:
        let isUpper = sample != sample.lowercased() && sample == sample.uppercased()
        return .text(isUpper ? text.uppercased() : text.lowercased())
      case .blob(let sample)?:
        return sample.count == 16 ? bytes(of: text).map { .blob($0) } : nil
      case .integer?, .real?: return nil
      }
    }
  }
}
