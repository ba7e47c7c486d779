internal import CSQLite

/// An error of a database file: SQLite's own code and words, the statement, and the file.
public struct DatabaseError: Error, Hashable, Sendable {
  /// A result code of SQLite (https://www.sqlite.org/rescode.html), extended where SQLite gives
  /// one.
  public struct Code: Hashable, Sendable {
    /// The extended result code.
    public let rawValue: Int32

    /// Wraps a result code.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// The primary result code: the lower eight bits.
    public var primary: Code { Code(rawValue: rawValue & 0xFF) }

    /// A wrong statement, a missing table, or another mistake in the request.
    public static let error = Code(rawValue: SQLITE_ERROR)
    /// Another connection holds a lock, and kept it for longer than the busy timeout.
    public static let busy = Code(rawValue: SQLITE_BUSY)
    /// The file may only be read.
    public static let readOnly = Code(rawValue: SQLITE_READONLY)
    /// The file has a write-ahead log, and nothing may be written beside it.
    static let readOnlyFolder = Code(rawValue: SQLITE_READONLY | 6 << 8)
    /// The file is damaged.
    public static let corrupt = Code(rawValue: SQLITE_CORRUPT)
    /// The disk is full.
    public static let full = Code(rawValue: SQLITE_FULL)
    /// The file cannot be opened: it is missing, a folder, or not permitted.
    public static let cannotOpen = Code(rawValue: SQLITE_CANTOPEN)
    /// A constraint of the schema forbids the change.
    public static let constraint = Code(rawValue: SQLITE_CONSTRAINT)
    /// A value is not of the type asked for, or a text is not valid UTF-8.
    public static let mismatch = Code(rawValue: SQLITE_MISMATCH)
    /// A value or statement is larger than SQLite allows.
    public static let tooBig = Code(rawValue: SQLITE_TOOBIG)
    /// A parameter that the statement does not have.
    public static let range = Code(rawValue: SQLITE_RANGE)
    /// The access was cancelled while it ran.
    public static let interrupted = Code(rawValue: SQLITE_INTERRUPT)
    /// Misuse of the database: after closing, or from inside its own transaction.
    public static let misuse = Code(rawValue: SQLITE_MISUSE)
    /// The file's migrations are not those of this program. (This is no code of SQLite.)
    public static let migration = Code(rawValue: 1 << 16)
    /// The file is not a database, or is encrypted.
    public static let notADatabase = Code(rawValue: SQLITE_NOTADB)
  }

  /// SQLite's result code.
  public var code: Code
  /// The event, as a sentence without a final stop.
  public var message: String
  /// The statement, if there was one.
  public var sql: String?
  /// The database file.
  public var path: String

  /// An error of the given kind.
  public init(code: Code, message: String, sql: String? = nil, path: String) {
    self.code = code
    self.message = message
    self.sql = sql
    self.path = path
  }
}

extension DatabaseError: CustomStringConvertible {
  /// "places.db: no such table: place (SQLite error 1), in: SELECT …".
  public var description: String {
    let statement = sql.map { ", in: \($0)" } ?? ""
    let number = code == .migration ? "" : " (SQLite error \(code.rawValue))"
    return "\(path): \(message)\(advice)\(number)\(statement)"
  }

  /// The words of SQLite for a function that only the application has.
  private static let missingFunction = ["no such function: ", "unknown function: "]

  /// The remedy, where it is not obvious from SQLite's words.
  private var advice: String {
    switch code.primary {
    case .busy: return "; another program is writing to it: try again when it has finished"
    case .notADatabase: return "; it may be another kind of file, or encrypted"
    case .readOnly where self.code == Code.readOnlyFolder:
      return "; a file with a write-ahead log can be read only where SQLite may write beside it"
    case .full: return "; free some space and try again: nothing was changed"
    case .corrupt: return "; restore it from a backup, or try sqlite3's .recover"
    case .error where Self.missingFunction.contains(where: message.hasPrefix):
      return "; make it known to this program (`functions`)"
    case .error where message.hasPrefix("no such collation sequence: "):
      return "; make it known to this program (`collations`)"
    default: return ""
    }
  }
}
