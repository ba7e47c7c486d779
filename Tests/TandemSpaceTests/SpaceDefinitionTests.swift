import TandemRecords
import TandemSQLite
import TandemSpace
import TandemSync
import Testing

@Suite("The definitions of columns that a space keeps", .onBothStores)
struct SpaceDefinitionTests {
  private let space: TestSpace

  init() throws { space = try TestSpace(tables: []) }

  private func table(_ columns: [String], _ definitions: [SpaceColumn]?) -> SpaceTable {
    var table = SpaceTable(name: "t", columns: columns, keyColumns: ["id"], granularity: .field)
    table.definitions = definitions
    return table
  }

  /// The definitions in the answer to a declaration.
  private func answer(
    _ columns: [String], _ definitions: [SpaceColumn]?, adds: Bool = true
  ) throws -> [SpaceColumn]? {
    try space.run { space, _ in
      try space.declare([table(columns, definitions)], adds: adds)
    }[0].definitions
  }

  @Test("The first copy defines a column, and later copies define those that are new")
  func first() throws {
    let id = SpaceColumn("id", type: "TEXT")
    let zip = SpaceColumn(
      "zip", type: "TEXT", isStrict: true, isRequired: true, defaultText: "''",
      checks: ["zip > ''", "zip < note"])
    let note = SpaceColumn("note", type: "")
    #expect(try answer(["zip"], [id, zip]) == [id, zip])
    let other = SpaceColumn("zip", type: "INTEGER")
    #expect(try answer(["note", "zip"], [other, note]) == [id, zip, note])
    // One that may only read adds nothing, and sees all.
    #expect(try answer(["note"], [SpaceColumn("note", type: "INT")], adds: false)?.last == note)
    // Nothing is judged by it, and no version is made.
    #expect(try space.state.head.version == 0)
    // What is no column of the table is left out.
    let none = SpaceColumn("none", type: "TEXT")
    #expect(try answer(["note"], [none]) == [id, zip, note])
  }

  @Test("A program that knows no definitions sees none, and its columns get those of a later one")
  func oldProgram() throws {
    #expect(try answer(["zip"], nil) == nil)
    #expect(try answer(["zip"], []) == [])
    let zip = SpaceColumn("zip", type: "TEXT")
    #expect(try answer(["zip"], [zip]) == [zip])
    #expect(try answer(["zip"], nil) == nil)
    #expect(try space.state.tables[0].definitions == nil)
  }

  @Test("A space of an earlier version gets the table for them with the first one", .onlyOnSQLite)
  func earlierSpace() throws {
    try space.connection.execute("DROP TABLE column_definition")
    #expect(try answer(["zip"], []) == [])
    let zip = SpaceColumn("zip", type: "TEXT")
    #expect(try answer(["zip"], [zip]) == [zip])
  }

  @Test("Definitions of more than a megabyte are refused as a whole")
  func limit() throws {
    let long = String(repeating: "x", count: SyncLimits.maxDeclarationByteCount)
    let error = #expect(throws: SyncRequestError.self) {
      try answer(["zip"], [SpaceColumn("zip", type: "TEXT", defaultText: long)])
    }
    #expect(error?.code == .overLimit)
  }
}
