internal import CSQLite
internal import TandemRecords

/// A function of a program that statements, triggers and defaults of its database call.
///
/// <!-- Snippets/DatabaseFunctions.swift functions -->
/// ```swift
/// var configuration = DatabaseConfiguration()
/// configuration.functions = [
///   // Indexes may use a function only if equal arguments always give equal results.
///   DatabaseFunction("initials", isDeterministic: true) { (name: String) in
///     String(name.split(separator: " ").compactMap(\.first))
///   },
///   DatabaseFunction("uuid") { UUID().uuidString.lowercased() },
/// ]
/// configuration.collations = [
///   DatabaseCollation("unicase") { first, second in
///     let (first, second) = (first.lowercased(), second.lowercased())
///     return first < second ? -1 : first == second ? 0 : 1
///   }
/// ]
/// let database = try Database(path: "\(folder)/people.db", configuration: configuration)
/// ```
///
/// If an argument is `NULL`, and its type is not optional, the result is `NULL`, as with functions of
/// SQLite. An argument that its type does not hold is an error of the statement, and so is an error
/// that the function throws. The function runs on the thread of the statement, and on several at a
/// time; it must not use the database.
///
/// Other programs need the function too if a table, an index or a trigger of the file uses it.
public struct DatabaseFunction: Hashable, Sendable {
  /// The name, without regard to case.
  public let name: String
  /// The number of arguments. Functions of one name may differ in it.
  public let argumentCount: Int
  /// True if equal arguments always give equal results. Only then may indexes and generated columns use
  /// the function.
  public let isDeterministic: Bool
  private let body: Body

  /// Two functions are equal if they are copies of one.
  private final class Body: Hashable, Sendable {
    let call: @Sendable (UnsafeMutablePointer<OpaquePointer?>?) throws -> FieldValue

    init(_ call: @escaping @Sendable (UnsafeMutablePointer<OpaquePointer?>?) throws -> FieldValue) {
      self.call = call
    }

    static func == (first: Body, second: Body) -> Bool { first === second }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  }

  /// A function of values.
  ///
  /// - Parameters:
  ///   - name: The name, which replaces a function of SQLite with as many arguments.
  ///   - isDeterministic: True if equal arguments always give equal results.
  ///   - body: Computes the result.
  public init<
    each Argument: DatabaseValue & SendableMetatype, Result: DatabaseValue & SendableMetatype
  >(
    _ name: String, isDeterministic: Bool = false,
    _ body: @escaping @Sendable (repeat each Argument) throws -> Result
  ) {
    var count = 0
    for _ in repeat (each Argument).self { count += 1 }
    self.name = name
    argumentCount = count
    self.isDeterministic = isDeterministic
    self.body = Body { values in
      var arguments = FunctionArguments(name: name, values: values)
      do {
        let result = try body(repeat arguments.next((each Argument).self))
        guard let value = result.fieldValue else {
          throw FunctionError("\(name): SQLite cannot hold its result")
        }
        return value
      } catch is MissingArgument {
        return .null
      }
    }
  }
}

/// The arguments of a call, one after the other.
private struct FunctionArguments {
  let name: String
  let values: UnsafeMutablePointer<OpaquePointer?>?
  private var position = 0

  init(name: String, values: UnsafeMutablePointer<OpaquePointer?>?) {
    self.name = name
    self.values = values
  }

  mutating func next<Value: DatabaseValue>(_ type: Value.Type) throws -> Value {
    let column = ColumnReader(ColumnValue(values?[position]))
    position += 1
    if let value = Value(column: column) { return value }
    if column.isNull { throw MissingArgument() }
    throw FunctionError("\(name): argument \(position) is no \(Value.self)")
  }
}

/// An argument is `NULL`, and its type has no value for that.
private struct MissingArgument: Error {}

private struct FunctionError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

// MARK: - Collations

/// An order of texts, for columns and indexes that are declared with its name.
///
/// An order must never change: an index of the file would be damaged. Other programs that use the column
/// need the collation too.
public struct DatabaseCollation: Hashable, Sendable {
  /// The name, without regard to case.
  public let name: String
  private let body: Body

  private final class Body: Hashable, Sendable {
    let compare: @Sendable (String, String) -> Int
    init(_ compare: @escaping @Sendable (String, String) -> Int) { self.compare = compare }
    static func == (first: Body, second: Body) -> Bool { first === second }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  }

  /// An order of texts.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - compare: Returns a negative number if the first text comes before the second one, 0 if both are
  ///     equal, and a positive number otherwise. It runs on several threads at a time.
  public init(_ name: String, compare: @escaping @Sendable (String, String) -> Int) {
    self.name = name
    body = Body(compare)
  }
}

// MARK: - Registering

extension DatabaseConnection {
  func add(_ function: DatabaseFunction) throws(DatabaseError) {
    let flags = SQLITE_UTF8 | (function.isDeterministic ? SQLITE_DETERMINISTIC : 0)
    let result = sqlite3_create_function_v2(
      handle.pointer, function.name, Int32(function.argumentCount), flags, function.context,
      { context, _, values in DatabaseFunction.call(context, values) }, nil, nil,
      { Unmanaged<AnyObject>.fromOpaque($0!).release() })
    guard result == SQLITE_OK else { throw handle.error(result) }
  }

  func add(_ collation: DatabaseCollation) throws(DatabaseError) {
    let context = collation.context
    let result = sqlite3_create_collation_v2(
      handle.pointer, collation.name, SQLITE_UTF8, context,
      { context, firstCount, first, secondCount, second in
        DatabaseCollation.compare(
          context, UnsafeRawBufferPointer(start: first, count: Int(firstCount)),
          UnsafeRawBufferPointer(start: second, count: Int(secondCount)))
      }, { Unmanaged<AnyObject>.fromOpaque($0!).release() })
    guard result == SQLITE_OK else {
      // SQLite releases the context of a function that it refuses, but not that of a collation.
      Unmanaged<AnyObject>.fromOpaque(context).release()
      throw handle.error(result)
    }
  }
}

extension DatabaseFunction {
  fileprivate var context: UnsafeMutableRawPointer { Unmanaged.passRetained(body).toOpaque() }

  fileprivate static func call(
    _ context: OpaquePointer?, _ values: UnsafeMutablePointer<OpaquePointer?>?
  ) {
    let body = Unmanaged<Body>.fromOpaque(sqlite3_user_data(context)).takeUnretainedValue()
    do {
      switch try body.call(values) {
      case .null: sqlite3_result_null(context)
      case .integer(let number): sqlite3_result_int64(context, number)
      case .real(let number): sqlite3_result_double(context, number)
      case .text(var text):
        text.withUTF8 { bytes in
          sqlite3_result_text64(
            context, UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self),
            UInt64(bytes.count), csqlite_transient(), UInt8(SQLITE_UTF8))
        }
      case .blob(let bytes):
        bytes.withUnsafeBytes { bytes in
          sqlite3_result_blob64(
            context, bytes.baseAddress, UInt64(bytes.count), csqlite_transient())
        }
      }
    } catch {
      sqlite3_result_error(context, "\(error)", -1)
    }
  }
}

extension DatabaseCollation {
  fileprivate var context: UnsafeMutableRawPointer { Unmanaged.passRetained(body).toOpaque() }

  fileprivate static func compare(
    _ context: UnsafeMutableRawPointer?, _ first: UnsafeRawBufferPointer,
    _ second: UnsafeRawBufferPointer
  ) -> Int32 {
    let body = Unmanaged<Body>.fromOpaque(context!).takeUnretainedValue()
    return Int32(
      body.compare(String(decoding: first, as: UTF8.self), String(decoding: second, as: UTF8.self))
        .signum())
  }
}
