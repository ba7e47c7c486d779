import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSync
import Testing

/// Triggers of the application run for the rows that a file receives, and change nothing in
/// synchronized tables.
@Suite("Triggers while changes are received")
struct TriggerEffectTests {
  private let space: TestSpace

  init() throws { space = try TestSpace() }

  @Test(
    "A count that a trigger keeps is right for rows that come with their parents, on however many pages",
    arguments: [1, 2, 100])
  func countsOfNewParents(pageSize: Int) throws {
    // The tables of children come first in the order of names.
    let schema =
      [
        "CREATE TABLE c (id TEXT PRIMARY KEY, count INTEGER NOT NULL DEFAULT 0)",
        "CREATE TABLE b (id TEXT PRIMARY KEY, c TEXT REFERENCES c, count INTEGER NOT NULL DEFAULT 0)",
        "CREATE TABLE a (id TEXT PRIMARY KEY, b TEXT REFERENCES b)",
      ]
      + [("b", "c"), ("a", "b")].flatMap { child, parent in
        [
          """
          CREATE TRIGGER more_\(child) AFTER INSERT ON \(child) BEGIN
            UPDATE \(parent) SET count = count + 1 WHERE id = new.\(parent); END
          """,
          """
          CREATE TRIGGER less_\(child) AFTER DELETE ON \(child) BEGIN
            UPDATE \(parent) SET count = count - 1 WHERE id = old.\(parent); END
          """,
        ]
      }
    let replicas = try (1...2).map { seed in
      try space.replica(
        UInt64(seed), schema, AttachedTable("c", columns: []), AttachedTable("b", columns: ["c"]),
        AttachedTable("a"))
    }
    try converge(replicas, space)
    replicas[1].maxPageChangeCount = pageSize
    for sql in [
      "INSERT INTO c (id) VALUES ('1'), ('2')",
      "INSERT INTO b (id, c) VALUES ('3', '1'), ('4', '1')",
      "INSERT INTO a VALUES ('5', '3'), ('6', '3'), ('7', '4')",
    ] { try replicas[0].execute(sql) }
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT id, count FROM c ORDER BY id", [["1", 2], ["2", 0]])
    try expectEqualRows(replicas, "SELECT id, count FROM b ORDER BY id", [["3", 2], ["4", 1]])
    for sql in ["DELETE FROM a WHERE b = '3'", "DELETE FROM b WHERE id = '3'"] {
      try replicas[0].execute(sql)
    }
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT id, count FROM c ORDER BY id", [["1", 1], ["2", 0]])
    try expectEqualRows(replicas, "SELECT id, count FROM b ORDER BY id", [["4", 1]])
  }

  /// Two files with orders and lines, and with triggers in the second one, or in both.
  private func orders(_ triggers: [String], inBoth: Bool, linesFirst: Bool) throws -> [TestReplica]
  {
    let schema = [
      "CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT)",
      "CREATE TABLE line (id TEXT PRIMARY KEY, parent TEXT, status TEXT, private)",
      "CREATE TABLE audit (v)",
    ]
    let tables = [AttachedTable("orders"), AttachedTable("line", columns: ["parent", "status"])]
    let replicas = try (1...2).map { seed in
      try TestReplica(
        seed: seed, schema, tables: linesFirst ? tables.reversed() : tables, space: space)
    }
    try replicas[0].execute("INSERT INTO orders VALUES ('o', 'open'), ('p', 'open')")
    try replicas[0].execute(
      "INSERT INTO line (id, parent, status) VALUES ('1', 'o', 'open'), ('2', 'o', 'open')")
    try converge(replicas, space)
    for replica in inBoth ? replicas : [replicas[1]] {
      for trigger in triggers { try replica.execute(trigger) }
    }
    return replicas
  }

  @Test(
    "A trigger that runs while changes are received leaves other rows, and unsent edits, as they are",
    arguments: [false, true])
  func triggerEffects(linesFirst: Bool) throws {
    let replicas = try orders(
      [
        """
        CREATE TRIGGER spread AFTER UPDATE OF status ON orders BEGIN
          UPDATE line SET status = new.status WHERE parent = new.id; END
        """,
        "CREATE TRIGGER audited AFTER UPDATE ON orders BEGIN INSERT INTO audit VALUES (new.status); END",
        "CREATE TRIGGER gone AFTER DELETE ON orders BEGIN DELETE FROM line WHERE parent = old.id; END",
        """
        CREATE TRIGGER noted AFTER UPDATE ON line BEGIN
          INSERT OR REPLACE INTO line (id, parent, status) VALUES ('log', new.id, new.status); END
        """,
      ], inBoth: false, linesFirst: linesFirst)
    try replicas[1].execute("DROP TRIGGER noted")
    try replicas[1].execute("UPDATE line SET status = 'precious', private = 'mine' WHERE id = '1'")
    try replicas[1].execute("INSERT INTO line (id, parent, status) VALUES ('3', 'o', 'new')")
    let lines = "SELECT * FROM line ORDER BY id"
    let before = try replicas[1].rows(lines)
    try replicas[0].execute("UPDATE orders SET status = 'closed' WHERE id = 'o'")
    try replicas[0].sync(space)
    try replicas[1].pull(space)
    #expect(try replicas[1].rows(lines) == before)
    #expect(try replicas[1].rows("SELECT v FROM audit") == [["closed"]])
    try converge(replicas, space)
    try replicas[1].execute("UPDATE line SET status = 'unsent' WHERE id = '2'")
    let later = try replicas[1].rows(lines)
    try replicas[0].execute("DELETE FROM orders WHERE id = 'o'")
    try replicas[0].sync(space)
    try replicas[1].pull(space)
    #expect(try replicas[1].rows(lines) == later)
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT id, status FROM line ORDER BY id",
      [["1", "precious"], ["2", "unsent"], ["3", "new"]])
    #expect(try replicas.flatMap { try $0.read { try $0.keptEdits(.rejected) } }.isEmpty)
    #expect(try replicas.flatMap { try $0.conflicts() }.isEmpty)
  }

  @Test(
    "A trigger in both files does not undo what its editor did after it", arguments: [false, true])
  func editAfterTrigger(linesFirst: Bool) throws {
    let replicas = try orders(
      [
        """
        CREATE TRIGGER spread AFTER UPDATE OF status ON orders BEGIN
          UPDATE line SET status = new.status WHERE parent = new.id; END
        """
      ], inBoth: true, linesFirst: linesFirst)
    try replicas[0].execute("UPDATE orders SET status = 'closed' WHERE id = 'o'")
    try replicas[0].execute("UPDATE line SET status = 'returned' WHERE id = '1'")
    try replicas[0].sync(space)
    try receive(replicas[1], from: space)
    try expectEqualRows(
      replicas, "SELECT id, status FROM line ORDER BY id", [["1", "returned"], ["2", "closed"]])
  }

  @Test("A trigger that exchanges unique values of received rows does not keep any of them away")
  func exchangedUniqueValues() throws {
    let schema = ["CREATE TABLE seat (id TEXT PRIMARY KEY, place TEXT UNIQUE, guest TEXT)"]
    let replicas = try (1...2).map { try space.replica($0, schema, AttachedTable("seat")) }
    try replicas[0].execute(
      "INSERT INTO seat VALUES ('a', '1', ''), ('b', '2', ''), ('c', '3', '')")
    try converge(replicas, space)
    // The first row that comes gives its place up for a moment; the second one takes it.
    try replicas[1].execute(
      """
      CREATE TRIGGER moved AFTER UPDATE OF guest ON seat BEGIN
        UPDATE seat SET place = '0' WHERE id = new.id AND new.id = 'a';
        UPDATE seat SET place = '1' WHERE id = new.id AND new.id = 'b'; END
      """)
    try replicas[0].execute("UPDATE seat SET guest = 'Ada'")
    try replicas[0].sync(space)
    try receive(replicas[1], from: space)
    try expectEqualRows(
      replicas, "SELECT * FROM seat ORDER BY id",
      [["a", "1", "Ada"], ["b", "2", "Ada"], ["c", "3", "Ada"]])
    #expect(try replicas[1].rejected().isEmpty)
  }

  @Test("A trigger that first leaves other rows alone, and then changes some, changes none")
  func laterEffect() throws {
    let schema = ["CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, others INTEGER)"]
    let replicas = try (1...2).map { try space.replica($0, schema, AttachedTable("note")) }
    try replicas[0].execute("INSERT INTO note VALUES ('a', '', 0), ('b', '', 0), ('c', '', 0)")
    try converge(replicas, space)
    // An unsent edit, which the trigger would overwrite without adding to the changed rows.
    try replicas[1].execute("UPDATE note SET others = 7 WHERE id = 'c'")
    try replicas[1].execute(
      """
      CREATE TRIGGER counted AFTER UPDATE OF title ON note BEGIN
        UPDATE note SET others = others + 1 WHERE id > new.id AND new.id <> 'a'; END
      """)
    try replicas[0].execute("UPDATE note SET title = 'new' WHERE id < 'c'")
    try replicas[0].sync(space)
    try replicas[1].pull(space)
    #expect(
      try replicas[1].rows("SELECT * FROM note ORDER BY id")
        == [["a", "new", 0], ["b", "new", 0], ["c", "", 7]])
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT * FROM note ORDER BY id")
  }

  @Test("A trigger of a full-text index leaves rows alone, and the index follows what is received")
  func fullTextIndex() throws {
    let replicas = try (1...2).map {
      try space.replica(
        $0,
        [
          "CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT)",
          "CREATE VIRTUAL TABLE note_fts USING fts5 (title, content='note')",
          """
          CREATE TRIGGER note_inserted AFTER INSERT ON note BEGIN
            INSERT INTO note_fts (rowid, title) VALUES (new.rowid, new.title); END
          """,
          """
          CREATE TRIGGER note_updated AFTER UPDATE ON note BEGIN
            INSERT INTO note_fts (note_fts, rowid, title) VALUES ('delete', old.rowid, old.title);
            INSERT INTO note_fts (rowid, title) VALUES (new.rowid, new.title); END
          """,
          """
          CREATE TRIGGER note_deleted AFTER DELETE ON note BEGIN
            INSERT INTO note_fts (note_fts, rowid, title) VALUES ('delete', old.rowid, old.title); END
          """,
        ], AttachedTable("note"))
    }
    try replicas[0].execute("INSERT INTO note VALUES ('a', 'apple'), ('b', 'pear'), ('c', 'plum')")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE note SET title = 'fig' WHERE id = 'b'")
    try replicas[0].execute("DELETE FROM note WHERE id = 'c'")
    try converge(replicas, space)
    for replica in replicas {
      for (word, ids) in [("apple", ["a"]), ("fig", ["b"]), ("pear", []), ("plum", [])] {
        let found = try replica.rows(
          "SELECT note.id FROM note_fts JOIN note ON note.rowid = note_fts.rowid WHERE note_fts MATCH '\(word)'"
        )
        #expect(found == ids.map { [.text($0)] }, "\(word)")
      }
      try replica.execute("INSERT INTO note_fts (note_fts, rank) VALUES ('integrity-check', 1)")
    }
  }

  @Test(
    "Triggers that do not run meanwhile are the same afterwards, in the order of their creation [kinds]"
  )
  func triggersStay() throws {
    let replicas = try (1...2).map {
      try space.replica(
        $0,
        [
          "CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, pos INTEGER UNIQUE, size INTEGER)",
          "CREATE TABLE log (line)",
          "CREATE VIRTUAL TABLE found USING fts5 (title, pos, content='note')",
        ], AttachedTable("note"))
    }
    let old =
      "INSERT INTO found (found, rowid, title, pos) VALUES ('delete', old.rowid, old.title, old.pos)"
    let new = "INSERT INTO found (rowid, title, pos) VALUES (new.rowid, new.title, new.pos)"
    for trigger in [
      "TRIGGER first AFTER UPDATE ON note BEGIN INSERT INTO log VALUES ('first ' || new.id); END",
      """
      TRIGGER "the stamp" AFTER UPDATE OF title ON note BEGIN
        UPDATE note SET size = length(new.title) WHERE id = new.id; END
      """,
      "TRIGGER indexed AFTER INSERT ON note BEGIN \(new); END",
      "TRIGGER moved AFTER UPDATE ON note BEGIN \(old); \(new); END",
      "TRIGGER gone AFTER DELETE ON note BEGIN \(old); END",
      "TRIGGER guard BEFORE UPDATE ON note WHEN new.title = 'b' AND old.title <> 'b' BEGIN SELECT RAISE(ROLLBACK, 'no'); END",
      "TRIGGER last AFTER UPDATE ON note BEGIN INSERT INTO log VALUES ('last ' || new.id); END",
    ] { try replicas[1].execute("CREATE \(trigger)") }
    try replicas[1].execute(
      "CREATE TEMP TRIGGER passing AFTER UPDATE ON main.note BEGIN UPDATE note SET size = 9; END")
    try replicas[0].execute("INSERT INTO note VALUES ('x', 'a', 1, 0), ('y', 'c', 2, 0)")
    try converge(replicas, space)
    let triggers = """
      SELECT name, tbl_name, sql FROM main.sqlite_schema WHERE type = 'trigger'
      UNION ALL SELECT name, tbl_name, sql FROM temp.sqlite_schema WHERE type = 'trigger'
      """
    let before = try replicas[1].rows(triggers)
    #expect(before.count > 8)
    try replicas[0].execute("UPDATE note SET pos = -pos")
    try replicas[0].execute("UPDATE note SET pos = 3 + pos, title = 'b'")
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT * FROM note ORDER BY id", [["x", "b", 2, 0], ["y", "b", 1, 0]])
    #expect(try replicas[1].rows(triggers) == before)
    #expect(
      try replicas[1].rows("SELECT line FROM log ORDER BY rowid")
        == [["last x"], ["first x"], ["last y"], ["first y"]])
    try replicas[1].execute("INSERT INTO found (found, rank) VALUES ('integrity-check', 1)")
    // They run for edits of this file.
    try replicas[1].execute("UPDATE note SET title = 'long' WHERE id = 'x'")
    #expect(try replicas[1].rows("SELECT size FROM note WHERE id = 'y'") == [[9]])
  }

  @Test("What a program writes through a view is sent, and is received without the view's triggers")
  func view() throws {
    let replicas = try space.pair(
      [
        "CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, source TEXT)",
        "CREATE TABLE log (line)",
        "CREATE VIEW notes AS SELECT id, title FROM note",
        """
        CREATE TRIGGER added INSTEAD OF INSERT ON notes BEGIN
          INSERT INTO note VALUES (new.id, new.title, 'view');
          INSERT INTO log VALUES ('added ' || new.id); END
        """,
        """
        CREATE TRIGGER changed INSTEAD OF UPDATE ON notes BEGIN
          UPDATE note SET title = new.title, source = old.title WHERE id = old.id;
          INSERT INTO log VALUES ('changed ' || new.id); END
        """,
        """
        CREATE TRIGGER removed INSTEAD OF DELETE ON notes BEGIN
          DELETE FROM note WHERE id = old.id;
          INSERT INTO log VALUES ('removed ' || old.id); END
        """,
        // Writes the table by the view's trigger.
        """
        CREATE TRIGGER copied AFTER INSERT ON note WHEN new.id = 'original' BEGIN
          INSERT INTO notes VALUES ('copy', new.title); END
        """,
      ], "note")
    let query = "SELECT * FROM note ORDER BY id"
    try replicas[0].execute("INSERT INTO notes VALUES ('a', 'x'), ('b', 'y')")
    try replicas[0].execute("INSERT INTO note VALUES ('original', 'z', 'own')")
    try replicas[0].sync(space)
    try receive(replicas[1], from: space)
    try expectEqualRows(
      replicas, query,
      [
        ["a", "x", "view"], ["b", "y", "view"], ["copy", "z", "view"], ["original", "z", "own"],
      ])
    try replicas[0].execute("UPDATE notes SET title = 'new' WHERE id = 'a'")
    try replicas[0].execute("DELETE FROM notes WHERE id IN ('b', 'original')")
    // The statement's conflict clause is that of its triggers, too.
    try replicas[0].execute("REPLACE INTO notes VALUES ('copy', 'replaced')")
    try replicas[0].sync(space)
    try receive(replicas[1], from: space)
    try expectEqualRows(replicas, query, [["a", "new", "x"], ["copy", "replaced", "view"]])
    #expect(try replicas[0].rows("SELECT count(*) FROM log") == [[7]])
    #expect(try replicas[1].rows("SELECT line FROM log").isEmpty)
    // They run for edits of this file.
    try replicas[1].execute("UPDATE notes SET title = 'last' WHERE id = 'a'")
    try converge(replicas.reversed(), space)
    try expectEqualRows(replicas, query, [["a", "last", "new"], ["copy", "replaced", "view"]])
  }

  @Test("A row that REPLACE replaces while triggers run recursively is one update")
  func recursiveTriggers() throws {
    let replicas = try space.pair(
      [
        "CREATE TABLE seat (id TEXT PRIMARY KEY, place TEXT UNIQUE, guest TEXT)",
        "CREATE TABLE log (line)",
        "CREATE TRIGGER gone AFTER DELETE ON seat BEGIN INSERT INTO log VALUES (old.id); END",
      ], "seat", rows: ["INSERT INTO seat VALUES ('a', '1', 'Ada'), ('b', '2', 'Bob')"])
    for replica in replicas {
      try replica.database.withWriter { try $0.execute("PRAGMA recursive_triggers=ON") }
    }
    let edits: [(sql: String, verbs: [SyncChange.Verb], log: [[FieldValue]])] = [
      ("REPLACE INTO seat VALUES ('a', '1', 'Eve')", [.update(["guest": "Eve"])], [["a"]]),
      // It also removes the row that has the place.
      (
        "UPDATE OR REPLACE seat SET place = '2' WHERE id = 'a'",
        [.update(["place": "2"]), .delete], [["a"], ["b"]]
      ),
    ]
    for (statement, verbs, log) in edits {
      try replicas[0].execute(statement)
      #expect(try replicas[0].rows("SELECT line FROM log ORDER BY rowid") == log)
      let bytes = try #require(try replicas[0].freeze())
      #expect(try SyncMessageReader().commit(bytes).changes.map(\.verb) == verbs)
      try replicas[0].settle(try space.push(bytes), bytes)
      try receive(replicas[1], from: space)
      try expectEqualRows(replicas, "SELECT * FROM seat ORDER BY id")
    }
    try expectEqualRows(replicas, "SELECT * FROM seat", [["a", "2", "Eve"]])
    #expect(try replicas.flatMap { try $0.rejectedContents() }.isEmpty)
  }

  @Test(
    "A trigger that fails for a received row keeps neither it nor another row away",
    arguments: [
      ("SELECT RAISE(FAIL, 'no') WHERE new.v = 'no';", []),
      // It does not run for the row alone that it refuses.
      (
        "INSERT INTO log VALUES (new.id); SELECT RAISE(FAIL, 'no') WHERE new.v = 'no';",
        [["a"], ["c"], ["mine"]]
      ),
    ] as [(String, [[FieldValue]])])
  func failure(body: String, log: [[FieldValue]]) throws {
    let replicas = try space.pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, v TEXT)", "CREATE TABLE log (line)"], "t",
      rows: ["INSERT INTO t VALUES ('changed', 'old'), ('deleted', 'old')"])
    try replicas[1].execute("CREATE TRIGGER failing AFTER INSERT ON t BEGIN \(body) END")
    try replicas[1].execute("INSERT INTO t VALUES ('mine', 'new')")
    try replicas[0].execute("INSERT INTO t VALUES ('a', 'yes'), ('b', 'no'), ('c', 'yes')")
    try replicas[0].execute("UPDATE t SET v = 'no' WHERE id = 'changed'")
    try replicas[0].execute("DELETE FROM t WHERE id = 'deleted'")
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT * FROM t ORDER BY id",
      [["a", "yes"], ["b", "no"], ["c", "yes"], ["changed", "no"], ["mine", "new"]])
    #expect(try replicas[1].rows("SELECT line FROM log ORDER BY line") == log)
    #expect(try replicas[1].rejectedContents().isEmpty)
    #expect(throws: DatabaseError.self) {
      try replicas[1].execute("INSERT INTO t VALUES ('refused', 'no')")
    }
  }
}
