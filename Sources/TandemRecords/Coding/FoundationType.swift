internal import TandemDifferences

/// A type of Foundation that fields hold in a form of their own.
///
/// Programs that do not use Foundation must not link it, so this target does not import it: a type is
/// recognized by its name in the running program, and its values are made of and taken apart into the
/// parts by which the type encodes itself. Tests compare the results with Foundation's own.
enum FoundationType {
  case date, url, uuid, decimal, data

  /// `nil` for any other type.
  init?(_ type: Any.Type) {
    let found = Self.known.first { $0.id == ObjectIdentifier(type) }
    guard let found else { return nil }
    self = found.type
  }

  /// The types that are part of this program.
  private static let known: [(id: ObjectIdentifier, type: FoundationType)] = {
    let names: [(String, FoundationType)] = [
      ("4DateV", .date), ("3URLV", .url), ("4UUIDV", .uuid), ("7DecimalV", .decimal),
      ("4DataV", .data),
    ]
    return names.flatMap { name, kind in
      ["10Foundation", "20FoundationEssentials"].compactMap { module in
        _typeByName(module + name).map { (ObjectIdentifier($0), kind) }
      }
    }
  }()

  /// The parts by which the type decodes itself, of a field's value; `nil` if that has another form,
  /// or if the type cannot hold it exactly. Not for data, which decode themselves byte by byte.
  func parts(of value: FieldValue, _ coding: RecordCoding) -> JSONValue? {
    switch (self, value) {
    case (.date, _):
      return Instant(value, coding.dates)?.referenceSeconds.map { .number("\($0)") }
    case (.url, .text(let text)): return .object(["relative": .string(text)])
    case (.uuid, .text(let text)): return .string(text)
    case (.uuid, .blob(let bytes)): return UUIDBytes.text(of: bytes).map { .string($0) }
    case (.decimal, _): return DecimalNumber(value)?.archive
    case (.url, _), (.uuid, _), (.data, _): return nil
    }
  }

  /// The field's value of a value that encodes itself by these parts; `nil` if it has none.
  func fieldValue(ofParts parts: JSONValue, _ coding: RecordCoding) -> FieldValue? {
    switch (self, parts) {
    case (.date, .number(let digits)):
      return Double(digits).flatMap { Instant(referenceSeconds: $0) }?.fieldValue(
        coding.dates, like: coding.sample)
    case (.url, .object(let fields)):
      guard fields.count == 1, case .string(let text) = fields["relative"] else { return nil }
      return .text(text)
    case (.uuid, .string(let text)):
      return UUIDBytes.fieldValue(ofUUID: text, coding)
    case (.decimal, _): return DecimalNumber(archive: parts)?.fieldValue
    case (.date, _), (.url, _), (.uuid, _), (.data, _): return nil
    }
  }

  /// True if the form of a value is that of other values of its column.
  func dependsOnSample(_ coding: RecordCoding) -> Bool {
    switch self {
    case .date: coding.dates == .stored
    case .uuid: coding.uuids == .stored
    case .url, .decimal, .data: false
    }
  }

  /// The form that a field must have, for error messages.
  func expectation(_ coding: RecordCoding) -> String {
    switch self {
    case .date:
      switch coding.dates {
      case .stored:
        "a date such as 2024-05-01T12:00:00Z, with an offset, or 2024-05-01 12:00:00, to the microsecond"
      case .iso8601: "a date such as 2024-05-01T12:00:00Z, with an offset, to the microsecond"
      case .sqliteText: "a date such as 2024-05-01 12:00:00, to the microsecond"
      case .secondsSince1970: "a number of seconds since 1970"
      case .millisecondsSince1970: "a whole number of milliseconds since 1970"
      case .secondsSince2001: "a number of seconds since 2001"
      }
    case .url: "the text of a URL"
    case .uuid: "the text of a UUID, or a blob of its 16 bytes"
    case .decimal: "a number of at most 38 digits"
    case .data: "a blob"
    }
  }

  /// The way to name another form, for error messages; empty if there is none.
  var remedy: String {
    switch self {
    case .date:
      "; name another form, as in RecordCoding(dates: .secondsSince1970) (recordCoding of the type)"
    case .uuid, .url, .decimal, .data: ""
    }
  }

  /// The reason why a value has no form in a field, for error messages.
  func limit(_ coding: RecordCoding) -> String {
    switch self {
    case .date where coding.dates == .stored && coding.sample?.isText == false,
      .uuid where coding.uuids == .stored:
      "its column has values of another form, such as "
        + DescriptionLimit.text(coding.sample ?? .null)
        + "; name the form, as in RecordCoding(dates: .secondsSince1970) (recordCoding of the type)"
    case .date: "a date in a text has a year from 0 to 9999, and at most 24 decimals"
    case .url: "a URL with a base has no text of its own: store its absoluteURL"
    case .uuid, .data: "it has an unknown form"
    case .decimal: "it is not a number"
    }
  }
}

extension FieldValue {
  fileprivate var isText: Bool { if case .text = self { true } else { false } }
}

// MARK: - JSON

extension FoundationType {
  /// The field's value that a JSON value stands for.
  func fieldValue(of json: JSONValue) -> FieldValue? {
    switch json {
    case .string(let text): self == .data ? [UInt8](base64: text).map { .blob($0) } : .text(text)
    case .number(let digits):
      if self == .decimal {
        .text(digits)
      } else {
        Int64(digits).map { .integer($0) } ?? Double(digits).map { .real($0) }
      }
    case .null, .bool, .array, .object: nil
    }
  }

  /// The JSON value of a field's value.
  func json(of value: FieldValue) -> JSONValue {
    switch value {
    case .null: .null
    case .integer(let number): .number("\(number)")
    case .real(let number): .number("\(number)")
    case .text(let text): self == .decimal ? .number(text) : .string(text)
    case .blob(let bytes): .string(String(base64: bytes))
    }
  }
}
