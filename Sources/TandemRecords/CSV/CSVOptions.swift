/// The dialect of a CSV text. The default is RFC 4180 in UTF-8.
public struct CSVOptions: Hashable, Sendable {
  /// The character that separates fields: any ASCII character except letters, digits, quotes and
  /// line ends. `nil` is a comma, or a tab for ``RecordFormat/tsv``; a header of one field with a
  /// semicolon, tab or bar in it is an error then.
  public var delimiter: UInt8? {
    didSet { precondition(delimiter.map(Self.isDelimiter) ?? true, "no delimiter of CSV") }
  }
  /// The encoding of the text.
  public var encoding: CSVEncoding
  /// The character that begins a line to skip, such as `#`; `nil` if there are no comments.
  public var comment: UInt8?
  /// True if a row may have fewer fields than the header, the missing ones being empty, and further
  /// ones if they are empty.
  public var allowsRaggedRows: Bool
  /// The meaning of quotes.
  public var quotes = CSVQuotes.strict
  /// False if the text has no line of field names. The fields are then called `column_1`, `column_2` and so on.
  public var hasHeader = true
  /// The number of lines before the header to skip, whatever is in them.
  public var skippedLineCount = 0 {
    didSet { precondition(skippedLineCount >= 0, "a number of lines is not negative") }
  }
  /// The fields of a key of several fields. An empty cell in one of them is an empty text, unless all are empty.
  package var keyFields: [String] = []
  /// True if ``encoding`` is right whatever a server declares.
  package var ignoresCharset = false
  /// The names that the header must have, such as those of the key; letters in either case. A text that is no
  /// CSV at all, such as a message of a server, is then not taken for a list without records.
  public var requiredFields: [String] = []
  /// The fields whose values stay texts, though all of them may look like numbers; letters in either case.
  /// Names that the header has not are ignored. In the other fields, a mirror reads values by the types of the
  /// columns of its table.
  public var textFields: [String] = []
  /// The ways to read the fields that are columns of a table, by name; letters in either case.
  package var columnKinds: [String: CSVColumnKind] = [:]

  /// A dialect of CSV.
  ///
  /// - Precondition: `delimiter` is one of those that ``isDelimiter(_:)`` accepts.
  public init(
    delimiter: UInt8? = nil, encoding: CSVEncoding = .utf8, comment: UInt8? = nil,
    allowsRaggedRows: Bool = false
  ) {
    precondition(delimiter.map(Self.isDelimiter) ?? true, "no delimiter of CSV")
    self.delimiter = delimiter
    self.encoding = encoding
    self.comment = comment
    self.allowsRaggedRows = allowsRaggedRows
  }

  /// Returns true if a byte can separate fields.
  public static func isDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case ASCII.tab: return true
    case ASCII.quote, ASCII.digits, UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      return false
    default: return (ASCII.space..<0x7F).contains(byte)
    }
  }

  /// The delimiter of a text in a format.
  func delimiter(of format: RecordFormat) -> UInt8 {
    delimiter ?? (format == .tsv ? ASCII.tab : ASCII.comma)
  }
}

/// The meaning of quotes in a CSV text.
public enum CSVQuotes: String, CaseIterable, Hashable, Sendable {
  /// As RFC 4180 says: quotes surround a whole field, and are doubled inside. Others are an error, but for those
  /// inside a field without quotes in a text with tabs.
  case strict
  /// A quote that neither begins a field nor stands before its end is a character of the field. A field in quotes
  /// with such a quote and a line end is an error, because rows may be lost in it.
  case lenient
  /// Every quote is a character, as in most texts with tabs.
  case none
}

/// The encoding of a CSV text.
public enum CSVEncoding: String, CaseIterable, Hashable, Sendable {
  /// UTF-8, with or without a byte order mark.
  case utf8 = "utf-8"
  /// ISO 8859-1, without its control characters from 80 to 9F.
  case latin1
  /// The code page of Windows for western languages: ISO 8859-1 with further characters from 80 to 9F.
  case windows1252 = "windows-1252"
  /// UTF-16 with a byte order mark, as spreadsheets write "Unicode text".
  case utf16 = "utf-16"
}

extension CSVEncoding {
  /// The encoding of this name in HTTP; `nil` for one that cannot be read. ISO 8859-1 and ASCII are read as
  /// Windows' code page, as browsers do (https://encoding.spec.whatwg.org).
  package init?(charset: String) {
    switch charset {
    case "utf-8", "utf8": self = .utf8
    case "iso-8859-1", "iso8859-1", "latin1", "windows-1252", "cp1252", "us-ascii", "ascii":
      self = .windows1252
    case "utf-16", "utf-16le", "utf-16be", "unicode": self = .utf16
    default: return nil
    }
  }

  /// Returns a text in UTF-8.
  ///
  /// - Throws: ``TextFault`` for bytes that the encoding does not have.
  /// - Complexity: O(*n*).
  func utf8(_ bytes: UnsafeRawBufferPointer) throws(TextFault) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count)
    switch self {
    case .utf8: text.append(contentsOf: bytes)
    case .latin1, .windows1252:
      for offset in bytes.indices {
        guard let scalar = scalar(of: bytes[offset]) else {
          throw TextFault(
            .malformed,
            "the byte 0x\(String(bytes[offset], radix: 16)) is no character of \(rawValue)"
              + (self == .latin1 ? "; the encoding may be windows-1252" : ""), at: offset)
        }
        text.append(contentsOf: UTF8.encode(scalar).unsafelyUnwrapped)
      }
    case .utf16: try Self.appendUTF16(bytes, to: &text)
    }
    return text
  }

  /// Returns a text of UTF-8 in this encoding; `nil` if it has a character that the encoding has not.
  ///
  /// - Parameter original: The bytes whose byte order, if they are UTF-16, is used.
  package func bytes(of utf8: [UInt8], like original: [UInt8]) -> [UInt8]? {
    switch self {
    case .utf8: return utf8
    case .latin1, .windows1252:
      let codes = Dictionary(
        uniqueKeysWithValues: (0...255).compactMap { code in
          scalar(of: UInt8(code)).map { ($0, UInt8(code)) }
        })
      var result: [UInt8] = []
      for scalar in String(decoding: utf8, as: UTF8.self).unicodeScalars {
        guard let code = codes[scalar] else { return nil }
        result.append(code)
      }
      return result
    case .utf16:
      let isBigEndian = original.starts(with: Self.bigEndianMark)
      return String(decoding: utf8, as: UTF8.self).utf16.reduce(
        into: isBigEndian ? Self.bigEndianMark : Self.littleEndianMark
      ) { bytes, unit in
        let (high, low) = (UInt8(unit >> 8), UInt8(unit & 0xFF))
        bytes += isBigEndian ? [high, low] : [low, high]
      }
    }
  }

  /// Returns true if a text begins with a byte order mark of UTF-16.
  static func isUTF16(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.starts(with: bigEndianMark) || bytes.starts(with: littleEndianMark)
  }

  private static let bigEndianMark: [UInt8] = [0xFE, 0xFF]
  private static let littleEndianMark: [UInt8] = [0xFF, 0xFE]

  private func scalar(of byte: UInt8) -> UnicodeScalar? {
    guard (0x80...0x9F).contains(byte) else { return UnicodeScalar(byte) }
    guard self == .windows1252 else { return nil }
    let code = Self.windows1252Characters[Int(byte - 0x80)]
    return code == 0 ? nil : UnicodeScalar(code)
  }

  /// The characters of the bytes from 80 to 9F; 0 for those that have none (Unicode's CP1252.TXT).
  private static let windows1252Characters: [UInt16] = [
    0x20AC, 0, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039,
    0x0152, 0, 0x017D, 0, 0, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC,
    0x2122, 0x0161, 0x203A, 0x0153, 0, 0x017E, 0x0178,
  ]

  private static func appendUTF16(
    _ bytes: UnsafeRawBufferPointer, to text: inout [UInt8]
  ) throws(TextFault) {
    guard isUTF16(bytes) else {
      throw TextFault(
        .malformed, "UTF-16 begins with a byte order mark, and this text does not", at: 0)
    }
    let isBigEndian = bytes.starts(with: bigEndianMark)
    var offset = 2
    func unit() throws(TextFault) -> UInt32 {
      guard bytes.count - offset >= 2 else {
        throw TextFault(.malformed, "the text ends too early, inside a character", at: offset)
      }
      defer { offset += 2 }
      let (first, second) = (UInt32(bytes[offset]), UInt32(bytes[offset + 1]))
      return isBigEndian ? first << 8 | second : second << 8 | first
    }
    while offset < bytes.count {
      let start = offset
      var code = try unit()
      if code & 0xFC00 == 0xD800 {
        let low = try unit()
        guard low & 0xFC00 == 0xDC00 else {
          throw TextFault(.malformed, "half a surrogate pair is no character", at: start)
        }
        code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = UnicodeScalar(code) else {
        throw TextFault(.malformed, "half a surrogate pair is no character", at: start)
      }
      text.append(contentsOf: UTF8.encode(scalar).unsafelyUnwrapped)
    }
  }
}

extension CSVEncoding {
  /// Returns a text in UTF-8.
  ///
  /// - Throws: ``TextFault`` for bytes that the encoding does not have.
  package func utf8(_ bytes: [UInt8]) throws(TextFault) -> [UInt8] {
    try bytes.withUnsafeBytes { bytes in
      Result { () throws(TextFault) in try utf8(bytes) }
    }.get()
  }
}
