import Tandem
import TestFolder

/// The generator of Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators" (2014).
struct SplitMix64: RandomNumberGenerator {
  var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

/// A database in memory with the given statements run.
func database(_ statements: String...) throws -> DatabaseConnection {
  let connection = try DatabaseConnection(path: ":memory:")
  for statement in statements { try connection.execute(statement) }
  return connection
}

extension DatabaseMirror {
  /// A mirror without limits in table `t`.
  static func unguarded(_ key: String..., table: String = "t") -> DatabaseMirror {
    DatabaseMirror(
      table: table, key: key,
      mirrorGuard: MirrorGuard(deletionLimit: .percentage(100), allowsEmptySource: true))
  }

  /// Runs with a list written in JSON.
  @discardableResult
  func run(json: String, into connection: DatabaseConnection) throws -> Outcome {
    try run(RecordReader.records(in: Array(json.utf8), format: .json), into: connection)
  }
}

/// Everything that is in a database: its schema and the rows of all its tables.
func dump(_ connection: DatabaseConnection) throws -> [String] {
  let tables = try connection.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
  return try tables.reduce(into: connection.rows("SELECT sql FROM sqlite_schema")) {
    $0 += try connection.rows("SELECT \($1), * FROM \($1)")
  }
}

/// The message of the error that `body` throws, or `nil`.
func message(of body: () throws -> Void) -> String? {
  do {
    try body()
    return nil
  } catch {
    return "\(error)"
  }
}
