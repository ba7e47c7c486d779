import TandemRecords
import TandemSQLite
import TestFolder
import TestRandom
import Testing

struct ColumnAffinityTests {
  /// Types as people declare them; the rules look for parts of words, in any case of ASCII letters.
  private static let declaredTypes = [
    "", "INTEGER", "int", "BIGINT", "TINYINT(1)", "UNSIGNED BIG INT", "POINT", "CHARINT", "BLOBINT",
    "TEXT", "VARCHAR(10)", "NATIVE CHARACTER(70)", "CLOB", "TextBlob", "REALTEXT", "Char",
    "BLOB", "REALBLOB", "BLOBREAL", "blob", "REAL", "DOUBLE PRECISION", "FLOAT", "real",
    "NUMERIC", "DECIMAL(10,2)", "BOOLEAN", "DATE", "STRING", "JSON", "ANY", "FLO", "DOU",
    "I\u{4E}T\u{301}", "\u{131}nt", "te\u{FB06}", "REA\u{2113}", "\u{FF29}NT",
  ]

  /// What the affinity of a column is, by what SQLite does with three values.
  private static func affinity(of type: String) throws -> ColumnAffinity {
    let connection = try DatabaseConnection(path: ":memory:")
    try connection.execute("CREATE TABLE t (c \(type.isEmpty ? "" : type.sqlQuoted))")
    try connection.execute("INSERT INTO t VALUES ('1'), (1), (1.0)")
    let types = try connection.valueRows("SELECT typeof(c) FROM t").map { $0[0] }
    switch types {
    case ["text", "text", "text"]: return .text
    case ["integer", "integer", "integer"]: return .numeric
    case ["real", "real", "real"]: return .real
    case ["text", "integer", "real"]: return .none
    default:
      Issue.record("\(types)")
      return .none
    }
  }

  @Test("the affinity of a declared type is the one SQLite gives it", arguments: declaredTypes)
  func declared(type: String) throws {
    let affinity = ColumnAffinity(declaredType: type)
    // Numeric and integer columns store alike.
    #expect(try Self.affinity(of: type) == (affinity == .integer ? .numeric : affinity))
    #expect((affinity == .integer) == type.utf8.map { $0 & 0xDF }.contains("INT".utf8))
  }

  // MARK: Stored values

  private static let nastyTexts = [
    "+5", "-5", "-", "+", "-0", "-0.0", "0.0", "00", "007", "1e5", "1E5", "1e+5", "1e", "1e+",
    "1e-",
    ".", ".5", "5.", "-.5", "-.", ".e1", "1.5e3.", "1.50", "0.1", "0.10", "100.0", "1e15",
    "1.0e+15",
    "1.0e15", "1.0E+15", "1e20", "1.0e+20", "1.5e+300", "1e400", "-1e400", "1e-400", "1.0e-300",
    "1.0e-05", "1e-05", "0.0001", "0.00001", "123456789012345.0", "1234567890123456.0",
    "0.30000000000000004", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "-9223372036854775809", "9007199254740993", "9007199254740993.0", "4.61168601842739e+18",
    " 1", "1 ", "\t1\n", "\u{B}1", "1\u{C}", "1\r", "1\0", "\u{0}1", "1\u{A0}", "1\u{85}", " ",
    "1 2",
    "0x10", "1_000", "1,5", "Inf", "inf", "-inf", "nan", "NaN", "Infinity", "true", "١", "1\u{301}",
    "1.0\u{301}", "1e5x", "12abc", "--5", "+-5", "1e5.0", "e5", "E", "1d5", "1f",
  ]

  /// Texts that are nearly numbers, and numbers of all sizes.
  private static func seededValues(count: Int) -> [FieldValue] {
    var random = SplitMix64(seed: 1)
    let pieces = ["", "0", "1", "12", "345678901", ".", ".5", "e", "e3", "E-2", "+", "-", " "]
    var values: [FieldValue] = []
    for _ in 0..<count {
      let piece = { pieces.randomElement(using: &random) ?? "" }
      values.append(.text((0..<4).map { _ in piece() }.joined()))
      let real = Double(bitPattern: random.next())
      let short = (Double.random(in: -1e6...1e6, using: &random) * 1000).rounded() / 1000
      for number in [real, short, short.rounded()] where !number.isNaN {
        values += [.real(number), .text(number.description)]
      }
      let integer =
        Int64(truncatingIfNeeded: random.next()) >> Int64.random(in: 0..<64, using: &random)
      values += [.integer(integer), .text(String(integer)), .text("\(integer).0")]
    }
    return values
  }

  /// What SQLite makes of a value in a column, and whether it is still the value given.
  private struct Storage {
    var stored: FieldValue
    var isKept: Bool
  }

  /// Stores the values in a column and reads them back from the file.
  private static func storages(
    of values: [FieldValue], inColumnOf type: String
  ) throws -> [Storage] {
    let folder = try TemporaryFolder()
    let connection = try folder.open(
      "test.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, c \(type))")
    try connection.transaction {
      for (id, value) in values.enumerated() {
        try connection.execute("INSERT INTO t VALUES (?, ?)", .integer(Int64(id)), value)
      }
    }
    let statement = try connection.prepare(
      """
      SELECT c, CAST(text AS TEXT), CAST(CAST(text AS TEXT) AS NUMERIC)
      FROM (SELECT id, c, iif(typeof(c) = 'blob', NULL, c) AS text FROM t) ORDER BY id
      """)
    var storages: [Storage] = []
    for value in values {
      #expect(try statement.step())
      let row = try statement.values()
      let isKept: Bool
      switch (value, row[0]) {
      case (.text, .integer), (.text, .real): isKept = row[1] == value
      case (.integer, .text), (.real, .text): isKept = row[2] == value
      default: isKept = row[0] == value
      }
      storages.append(Storage(stored: row[0], isKept: isKept))
    }
    return storages
  }

  @Test(
    "stored gives exactly what SQLite stores, and nothing exactly where SQLite changes the value",
    arguments: ["INTEGER", "NUMERIC", "REAL", "TEXT", "BLOB", ""])
  func stored(type: String) throws {
    let values = nastyValues + Self.nastyTexts.map { .text($0) } + Self.seededValues(count: 300)
    let affinity = ColumnAffinity(declaredType: type)
    for (value, storage) in zip(values, try Self.storages(of: values, inColumnOf: type)) {
      let stored = affinity.stored(value)
      var expected = storage.isKept ? storage.stored : nil
      // SQLite would leave out the sign of minus zero; as a text it is stored.
      if affinity == .text, exact(value) == exact(.real(-0.0)) { expected = "-0.0" }
      if stored.map(Self.exactButZero) != expected.map(Self.exactButZero) {
        Issue.record(
          "\(exact(value)): \(stored.map(exact) as Any), not \(expected.map(exact) as Any)")
      }
      if affinity.keptKinds.contains(value.kind) {
        #expect(Self.exactButZero(storage.stored) == Self.exactButZero(value), "\(exact(value))")
      }
    }
  }

  @Test(
    "altered gives what SQLite stores, changed or not",
    arguments: ["INTEGER", "NUMERIC", "REAL", "TEXT", "BLOB", ""])
  func altered(type: String) throws {
    let values = nastyValues + Self.nastyTexts.map { .text($0) } + Self.seededValues(count: 300)
    let affinity = ColumnAffinity(declaredType: type)
    for (value, storage) in zip(values, try Self.storages(of: values, inColumnOf: type))
    where affinity.stored(value) == nil {
      let altered = affinity.altered(value)
      #expect(
        altered == storage.stored && altered.kind == storage.stored.kind,
        "\(exact(value)): \(exact(altered)), not \(exact(storage.stored))")
    }
  }

  /// A REAL column forgets the sign of a zero, which no comparison sees.
  private static func exactButZero(_ value: FieldValue) -> String {
    value == 0.0 ? "zero, \(exact(value).prefix(4))" : exact(value)
  }

  @Test("what is stored is stored again as it is: a second run finds nothing to change")
  func idempotent() {
    for affinity in [ColumnAffinity.text, .numeric, .integer, .real, .none] {
      for value in nastyValues + Self.nastyTexts.map({ .text($0) }) + Self.seededValues(count: 100)
      {
        guard let stored = affinity.stored(value) else { continue }
        #expect(affinity.stored(stored).map(exact) == exact(stored), "\(exact(value))")
      }
    }
  }

  @Test("a NaN is stored as null by every column")
  func notANumber() {
    for affinity in [ColumnAffinity.text, .numeric, .integer, .real, .none] {
      #expect(affinity.stored(.real(.nan)).map(exact) == "null")
    }
  }
}
