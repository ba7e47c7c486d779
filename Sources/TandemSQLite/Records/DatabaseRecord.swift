public import TandemRecords

/// A type that a ``RowDecoder`` decodes from a row of a query.
///
/// A `Decodable` structure needs only to declare the conformance; each of its keys takes the column
/// of that name. Other types name their columns, and take them in that order:
///
/// <!-- Snippets/DatabaseCodeInComments.swift decodable -->
/// ```swift
/// struct Place: RowDecodable {
///   static let columnNames = ["id", "name"]
///   let id: Int64
///   let name: String
///
///   init(row: inout RowDecoder) throws {
///     id = try row.next()
///     name = try row.next()
///   }
/// }
/// ```
///
/// The place of a name in a query is looked up once per statement, not per row; columns that are
/// not named are ignored. A type without ``columnNames`` may take columns by name: `row["name"]`.
public protocol RowDecodable {
  /// The columns that ``init(row:)`` takes, in its order. If this is empty, it takes those of the
  /// query in their order.
  static var columnNames: [String] { get }

  /// The forms of dates and UUIDs in the columns; by default those that the columns already have, and in empty
  /// columns texts: ISO 8601, and lower case.
  static var recordCoding: RecordCoding { get }

  /// The value of the current row.
  init(row: inout RowDecoder) throws
}

/// A row of one table as a value, found by its key.
///
/// A `Codable` structure needs only to declare the conformance, if its table has its name and its
/// key is the column `id`:
///
/// <!-- Snippets/DatabaseCodeInComments.swift record -->
/// ```swift
/// struct Place: Codable, Identifiable, DatabaseRecord {
///   var id: Int64
///   var name: String
/// }
/// ```
///
/// Each property is a column, in the form in which a mirror writes the values of a list: numbers and
/// texts as they are, `Bool` as 0 or 1, enumerations by their raw value, `Date` as an ISO 8601 text,
/// `UUID` and `URL` as a text, `Decimal` as a number, `Data` and `[UInt8]` as a blob. Arrays,
/// dictionaries and nested `Codable` types are JSON. Dates such as `2024-05-01 12:00:00.000`
/// (`CURRENT_TIMESTAMP`, GRDB) and UUIDs of 16 bytes are read too, and a column that has such values
/// gets more of them. The first value found decides; it is looked for once for each column and
/// connection. ``RowDecodable/recordCoding`` chooses other forms, for instance the Unix time:
///
/// <!-- Snippets/DatabaseCodeInComments.swift coding -->
/// ```swift
/// static let recordCoding = RecordCoding(dates: .secondsSince1970)
/// ```
///
/// `RecordCoding` has the details. A value that its property cannot hold exactly is an error that
/// names the table, the column and the key.
public protocol DatabaseRecord: RowDecodable {
  /// The table; by default, that of the type's name. (SQLite ignores the case of ASCII letters.)
  static var tableName: String { get }

  /// The columns that identify a row; by default, `id`.
  static var keyColumnNames: [String] { get }

  /// Appends the value of each column, in the order of ``RowDecodable/columnNames``.
  func encode(to row: inout RowEncoder) throws
}

extension RowDecodable {
  /// The forms that the columns already have; in empty columns ISO 8601 dates, and UUIDs in lower case.
  public static var recordCoding: RecordCoding { RecordCoding(dates: .stored, uuids: .stored) }
}

extension DatabaseRecord {
  /// The type's own name.
  public static var tableName: String { "\(Self.self)" }

  /// The column `id`.
  public static var keyColumnNames: [String] { ["id"] }
}

// MARK: - Codable

extension RowDecodable where Self: Decodable {
  /// None: columns are found by the type's keys.
  public static var columnNames: [String] { [] }

  /// Decodes the type's keys from the columns of their names.
  @inlinable
  public init(row: inout RowDecoder) throws { self = try row.decode(Self.self) }
}

extension DatabaseRecord where Self: Encodable {
  /// Encodes the type's keys to the columns of their names.
  @inlinable
  public func encode(to row: inout RowEncoder) throws { try row.encode(self) }
}
