import Foundation
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

struct StatementTests {
  private let folder: TemporaryFolder
  private let connection: DatabaseConnection

  init() throws {
    folder = try TemporaryFolder()
    connection = try folder.open("test.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, value)")
  }

  // MARK: Values

  @Test("every value is read back from the file with its type and bits, by another connection")
  func roundTrip() throws {
    let long = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 % 251 % 128) }
    let values =
      nastyValues + [.text(String(decoding: long, as: UTF8.self)), .blob(long)]
    for (id, value) in values.enumerated() {
      try connection.execute("INSERT INTO t VALUES (?, ?)", .integer(Int64(id)), value)
    }
    let reader = try DatabaseConnection(path: folder.file(), access: .readOnly)
    let rows = try reader.valueRows("SELECT value FROM t ORDER BY id")
    #expect(rows.count == values.count)
    for (row, value) in zip(rows, values) where exact(row[0]) != exact(value) {
      Issue.record("\(exact(row[0])) instead of \(exact(value))")
    }
  }

  @Test("texts of statements that Swift takes for equal are two statements")
  func canonicallyEqualStatements() throws {
    let (composed, decomposed) = ("\u{e9}", "e\u{301}")
    #expect(composed == decomposed)
    for (text, count) in [(composed, 2), (decomposed, 3), (composed, 2)] {
      let sql = "SELECT length(CAST('\(text)' AS BLOB))"
      let length = try connection.withStatement(sql) { statement throws(DatabaseError) in
        try statement.step() ? try statement.values() : []
      }
      #expect(length == [.integer(Int64(count))])
    }
  }

  @Test("a NaN, which SQLite does not have, becomes null")
  func notANumber() throws {
    for value in [Double.nan, -.nan, .signalingNaN] {
      let rows = try connection.valueRows("SELECT ?1, typeof(?1)", .real(value))
      #expect(rows.map { $0.map(exact) } == [[exact(.null), exact("null")]])
    }
  }

  @Test("an empty text and an empty blob are not null")
  func empty() throws {
    let rows = try connection.valueRows("SELECT typeof(?), typeof(?)", "", .blob([]))
    #expect(rows == [["text", "blob"]])
  }

  @Test(
    "a text that is not valid UTF-8 is an error that names the column, never a repaired text",
    arguments: ["ff41", "c3", "41c3", "eda080", "c080", "f4908080", "80"])
  func invalidText(bytes: String) throws {
    try connection.execute("INSERT INTO t VALUES (1, CAST(x'\(bytes)' AS TEXT))")
    let statement = try connection.prepare("SELECT id, value AS broken FROM t")
    #expect(try statement.step())
    #expect(try statement.value(at: 0) == 1)
    for read in [{ _ = try statement.value(at: 1) }, { _ = try statement.values() }] {
      let error = try databaseError { try read() }
      #expect(error.code == .mismatch)
      #expect(error.message.contains("column broken is not valid UTF-8"))
    }
  }

  @Test("texts are the same in databases that store UTF-16", arguments: ["UTF-16le", "UTF-16be"])
  func wideTexts(encoding: String) throws {
    try folder.runElsewhere(
      "PRAGMA encoding='\(encoding)'; CREATE TABLE t (id INTEGER PRIMARY KEY, value)", on: "wide.db"
    )
    let wide = try folder.open("wide.db")
    #expect(try wide.valueRows("PRAGMA encoding") == [[.text(encoding)]])
    // SQLite itself turns U+FFFF into U+FFFD on the way to UTF-16.
    let values = nastyValues.filter { $0 != "\u{FFFF}" }
    for (id, value) in values.enumerated() {
      try wide.execute("INSERT INTO t VALUES (?, ?)", .integer(Int64(id)), value)
    }
    let rows = try wide.valueRows("SELECT value FROM t ORDER BY id")
    for (row, value) in zip(rows, values) { #expect(exact(row[0]) == exact(value)) }
  }

  @Test("a column that is not there, and a row that is not, are errors")
  func range() throws {
    let statement = try connection.prepare("SELECT 1 AS one")
    #expect(try databaseError { _ = try statement.value(at: 0) }.code == .range)
    #expect(try statement.step())
    #expect(try statement.value(at: 0) == 1)
    for column in [-1, 1, .max, .min, 1 << 32] {
      #expect(try databaseError { _ = try statement.value(at: column) }.code == .range)
    }
    #expect(try !statement.step())
    #expect(try databaseError { _ = try statement.value(at: 0) }.code == .range)
    #expect(try statement.values().isEmpty)
  }

  @Test("columns have their names")
  func columnNames() throws {
    let statement = try connection.prepare("SELECT id, value AS \"é\"\"\", 1 FROM t")
    #expect(statement.columnCount == 3)
    #expect(statement.columnNames == ["id", "é\"", "1"])
  }

  // MARK: Parameters

  @Test("values that are too few or too many are an error, and are not bound")
  func parameterCounts() throws {
    let statement = try connection.prepare("SELECT ?, ?")
    for values in [[], [1], [1, 2, 3]] as [[FieldValue]] {
      let error = try databaseError { try statement.bind(values) }
      #expect(error.code == .range)
      #expect(error.message == "\(values.count) values for 2 parameters")
      #expect(error.sql == "SELECT ?, ?")
    }
  }

  @Test(
    "a parameter that the statement does not have is an error", arguments: [0, -1, 3, .max, .min])
  func parameterPositions(position: Int) throws {
    let statement = try connection.prepare("SELECT ?, ?")
    let error = try databaseError { try statement.bind(1, at: position) }
    #expect(error.code == .range)
  }

  @Test("parameters stay over a reset, until they are cleared")
  func clearing() throws {
    let statement = try connection.prepare("SELECT ?")
    try statement.bind(["a"])
    for expected in ["a", "a", FieldValue.null] {
      if expected == .null { statement.clearBindings() }
      #expect(try statement.step())
      #expect(try statement.value(at: 0) == expected)
      statement.reset()
    }
  }

  @Test("a parameter cannot be bound between two rows")
  func bindingWhileRunning() throws {
    let statement = try connection.prepare("SELECT ? UNION ALL SELECT 2")
    try statement.bind([1])
    #expect(try statement.step())
    #expect(throws: DatabaseError.self) { try statement.bind([3]) }
  }

  // MARK: Texts of statements

  @Test(
    "semicolons, spaces and comments around a statement are accepted",
    arguments: [
      "SELECT 1", "SELECT 1;", "SELECT 1; -- c", "SELECT 1 -- c", "SELECT 1; /* c */ ;; -- d\n ",
      "SELECT 1;\n--", "SELECT 1; /* c", "SELECT 1; /**/", "-- c\nSELECT 1",
      "/* ; */ SELECT 1;\r\n\t",
      "; ;SELECT 1", "SELECT 1; /*/ c */", "SELECT 1; -- SELECT 2", "SELECT 1; /* SELECT 2; */",
    ])
  func single(sql: String) throws {
    #expect(try connection.integer(sql) == 1)
  }

  @Test(
    "more than one statement is an error, and none of them is run",
    arguments: [
      "DELETE FROM t; SELECT 2", "DELETE FROM t;SELECT", "DELETE FROM t; nonsense",
      "DELETE FROM t; -- c\nDELETE FROM t", "DELETE FROM t; /* */ x", "DELETE FROM t; /*/ */ */",
      "DELETE FROM t;\0", "DELETE FROM t\0;", "DELETE FROM t; -", "DELETE FROM t; /",
    ])
  func multiple(sql: String) throws {
    try connection.execute("INSERT INTO t VALUES (1, 1)")
    let error = try databaseError { try connection.execute(sql) }
    #expect(error.code == .error)
    #expect(error.message == "more than one statement")
    #expect(error.sql == sql)
    #expect(try connection.integer("SELECT count(*) FROM t") == 1)
  }

  @Test(
    "no statement at all is an error",
    arguments: ["", " ", ";", "-- c", "/* c */", "/* c", "\n;;\n"])
  func none(sql: String) throws {
    let error = try databaseError { _ = try connection.prepare(sql) }
    #expect(error.code == .error)
    #expect(error.message == "the statement is empty")
  }

  @Test("an error has SQLite's code and words, the statement, and the file")
  func errors() throws {
    let mistake = try databaseError { try connection.execute("SELECT * FROM nowhere") }
    #expect(mistake.code == .error)
    #expect(mistake.message == "no such table: nowhere")
    #expect(mistake.sql == "SELECT * FROM nowhere")
    #expect(mistake.path == folder.file())
    #expect(
      mistake.description == "\(folder.file()): no such table: nowhere (SQLite error 1), "
        + "in: SELECT * FROM nowhere")
    try connection.execute("INSERT INTO t VALUES (1, 1)")
    let conflict = try databaseError { try connection.execute("INSERT INTO t VALUES (1, 2)") }
    #expect(conflict.code.primary == .constraint)
    #expect(conflict.code.rawValue == 1555)
    #expect(conflict.message == "UNIQUE constraint failed: t.id")
    #expect(conflict.sql == "INSERT INTO t VALUES (1, 2)")
  }

  @Test("a statement can be run again after it failed")
  func afterFailure() throws {
    let statement = try connection.prepare("INSERT INTO t VALUES (?, 0)")
    try statement.run([1])
    #expect(throws: DatabaseError.self) { try statement.run([1]) }
    try statement.run([2])
    #expect(try connection.integer("SELECT count(*) FROM t") == 2)
  }

  @Test("at its end a statement is reset, and begins anew")
  func stepping() throws {
    let statement = try connection.prepare("SELECT 1 UNION ALL SELECT 2")
    for _ in 0..<2 {
      var values: [FieldValue] = []
      while try statement.step() { values.append(try statement.value(at: 0)) }
      #expect(values == [1, 2])
    }
  }
}
