public import TandemRecords

/// A statement and the values of its parameters.
///
/// In a literal, an interpolated value becomes a parameter, never text, so no value can change the
/// meaning of the statement:
///
/// <!-- Snippets/DatabaseCodeInComments.swift binding -->
/// ```swift
/// let places: [Place] = try transaction.fetchAll("SELECT * FROM place WHERE name = \(name)")
/// ```
///
/// `\(identifier: column)` quotes the name of a table or column, which cannot be a parameter. An
/// `SQL` in an `SQL` is inserted as it is, with its parameters.
public struct SQL: Hashable, Sendable {
  /// The text, with a `?` for each parameter.
  public private(set) var text: String
  /// The values, in order.
  public private(set) var parameters: [FieldValue]
  /// A value that SQLite cannot hold, which makes running the statement an error.
  package private(set) var unstorable: String?

  /// A trusted text, whose parameters are written `?`.
  public init(text: String, parameters: [FieldValue] = []) {
    self.text = text
    self.parameters = parameters
  }

  /// Two statements' texts and parameters, one after the other.
  public static func + (first: SQL, second: SQL) -> SQL {
    var sum = first
    sum.append(second)
    return sum
  }

  fileprivate mutating func append(_ other: SQL) {
    text += other.text
    parameters += other.parameters
    unstorable = unstorable ?? other.unstorable
  }
}

extension SQL: CustomStringConvertible {
  /// The text, and the values of its parameters: `SELECT * FROM place WHERE id = ?, with 7`.
  public var description: String {
    let values = parameters.map(\.description).joined(separator: ", ")
    return values.isEmpty ? text : "\(text), with \(values)"
  }
}

extension SQL: ExpressibleByStringInterpolation {
  /// A text without parameters.
  public init(stringLiteral text: String) { self.init(text: text) }

  /// The statement that was written with interpolations.
  public init(stringInterpolation: StringInterpolation) { self = stringInterpolation.sql }

  /// Collects the parts of a literal.
  public struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var sql = SQL(text: "")

    /// Begins with nothing.
    public init(literalCapacity: Int, interpolationCount: Int) {
      sql.text.reserveCapacity(literalCapacity + interpolationCount)
    }

    /// Appends the literal text.
    public mutating func appendLiteral(_ literal: String) { sql.text += literal }

    /// Appends a parameter.
    ///
    /// A value that SQLite cannot hold exactly, such as an integer beyond 64 bits, makes running
    /// the statement an error (`mismatch`).
    public mutating func appendInterpolation(_ value: some DatabaseValue) {
      sql.text += "?"
      if let value = value.fieldValue {
        sql.parameters.append(value)
      } else {
        sql.parameters.append(.null)
        sql.unstorable = sql.unstorable ?? "\(value)"
      }
    }

    /// Appends a parameter: `nil` is a null.
    public mutating func appendInterpolation(_ value: (some DatabaseValue)?) {
      if let value { appendInterpolation(value) } else { appendInterpolation(FieldValue.null) }
    }

    /// Appends a parameter of any `Encodable` type, in the form that `coding` states: a `Date`, `UUID`
    /// or `URL`, or JSON.
    public mutating func appendInterpolation(
      encoding value: some Encodable, coding: RecordCoding = RecordCoding()
    ) {
      sql.text += "?"
      do {
        sql.parameters.append(try FieldEncoder.fieldValue(of: value, coding))
      } catch {
        sql.parameters.append(.null)
        let reason = (error as? EncodingError)?.fieldMessage ?? "\(value): \(error)"
        sql.unstorable = sql.unstorable ?? reason
      }
    }

    /// Appends one parameter per element, in parentheses: `id IN \(list: ids)`.
    public mutating func appendInterpolation(list values: some Sequence<some DatabaseValue>) {
      sql.text += "("
      var separator = ""
      for value in values {
        sql.text += separator
        appendInterpolation(value)
        separator = ", "
      }
      sql.text += ")"
    }

    /// Appends the quoted name of a table or column.
    public mutating func appendInterpolation(identifier name: String) {
      sql.text += name.sqlQuoted
    }

    /// Appends another statement, or a part of one.
    public mutating func appendInterpolation(_ part: SQL) { sql.append(part) }
  }
}
