/// The forms in which the fields of a `Codable` record hold values of Foundation's types.
///
/// | type | field |
/// |---|---|
/// | `Date` | ``dates``: by default an ISO 8601 text |
/// | `UUID` | ``uuids``: by default a text in lower case |
/// | `URL` | its text; a URL with a base is an error: store its `absoluteURL` |
/// | `Decimal` | an integer or a real if that is exact in 15 digits, otherwise its digits as a text |
/// | `Data`, and any other sequence of bytes | a blob |
///
/// Arrays, dictionaries, sets and nested `Codable` types are a JSON text in which dates, UUIDs, URLs
/// and decimals have the same forms, and `Data` is a text in base64 (RFC 4648). Fields of objects are
/// written in the order of their names.
///
/// A value that its type cannot hold exactly is an error that names the field. A conformance to
/// ``FieldValueConvertible`` takes precedence over these forms.
public struct RecordCoding: Hashable, Sendable {
  /// The form of dates.
  public var dates: RecordDateCoding
  /// The form of UUIDs.
  public var uuids: RecordUUIDCoding
  /// A value that the column has which a value is written to, if one is known.
  package var sample: FieldValue?
  /// True if a value whose form depends on ``sample`` is to fail with ``MissingSample``, as long as there is none.
  package var requiresSample = false

  /// Forms as given; by default those that most servers send.
  public init(dates: RecordDateCoding = .iso8601, uuids: RecordUUIDCoding = .lowercase) {
    self.dates = dates
    self.uuids = uuids
  }
}

/// The form of a value depends on a value that its column has (``RecordCoding/sample``).
package struct MissingSample: Error {}

/// The form in which fields hold dates.
///
/// Reading is exact: a text with more digits than a `Date` holds, or a date of another form, is an
/// error.
public enum RecordDateCoding: Hashable, Sendable {
  /// The text that the column of the table already has: ``iso8601``, or the form of SQLite and GRDB, such as
  /// `2024-05-01 12:00:00.000` in UTC.
  ///
  /// Reads both. Writes the form of the column, with as many decimals as it has or more, and ISO 8601 where there
  /// is no column or none with a value. A column of numbers is an error, because they may count from several
  /// moments: name their form.
  case stored
  /// A text such as `2024-05-01T12:00:00Z` (ISO 8601, RFC 3339).
  ///
  /// Reads any offset from UTC, and requires one. Writes UTC, with as many decimals as the date has.
  case iso8601
  /// A text such as `2024-05-01 12:00:00` in UTC, the form of SQLite's `datetime()` and
  /// `CURRENT_TIMESTAMP`.
  ///
  /// Reads each of SQLite's forms that begin with a date, also a date alone and ISO 8601. Writes as
  /// many decimals as the date has.
  case sqliteText
  /// The number of seconds since 1970, an integer or a real: the Unix time. Writing rounds to the
  /// nearest real, which is less than a microsecond away.
  case secondsSince1970
  /// The whole number of milliseconds since 1970, as JavaScript counts. Writing rounds to the nearest
  /// one.
  case millisecondsSince1970
  /// The number of seconds since 2001, as `Date` encodes itself.
  case secondsSince2001
}

/// The form in which fields hold UUIDs. All forms are read.
public enum RecordUUIDCoding: Hashable, Sendable {
  /// The form that the column of the table already has; ``lowercase`` where there is no column or none with a
  /// value.
  case stored
  /// A text in lower case, as RFC 9562 requires.
  case lowercase
  /// A text in upper case, as `UUID.uuidString` is.
  case uppercase
  /// A blob of 16 bytes, as GRDB writes them.
  case blob
}
