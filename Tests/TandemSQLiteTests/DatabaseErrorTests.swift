import TandemSQLite
import Testing

struct DatabaseErrorTests {
  @Test("an extended code has the primary one in its lower bits")
  func codes() {
    #expect(DatabaseError.Code(rawValue: 1555).primary == .constraint)
    #expect(DatabaseError.Code(rawValue: 526).primary == .cannotOpen)
    #expect(DatabaseError.Code.busy.primary == .busy)
  }

  @Test("an error reads as file, message, code and statement")
  func description() {
    var error = DatabaseError(code: .error, message: "no such table: place", path: "places.db")
    #expect(error.description == "places.db: no such table: place (SQLite error 1)")
    error.sql = "SELECT * FROM place"
    #expect(
      error.description
        == "places.db: no such table: place (SQLite error 1), in: SELECT * FROM place")
  }

  @Test(
    "errors that a user can do something about say what, extended codes too",
    arguments: [
      (DatabaseError.Code.busy, "try again"), (.init(rawValue: 517), "try again"),
      (.notADatabase, "encrypted"), (.full, "free some space"), (.corrupt, "backup"),
    ])
  func advice(code: DatabaseError.Code, words: String) {
    let error = DatabaseError(code: code, message: "what happened", path: "a.db")
    #expect(error.description.hasPrefix("a.db: what happened; "))
    #expect(error.description.contains(words))
  }

  @Test("the error for a missing function or collation names the option that declares it")
  func missing() {
    for (message, option) in [
      ("no such function: f", "`functions`"), ("no such collation sequence: c", "`collations`"),
    ] {
      let error = DatabaseError(code: .error, message: message, path: "a.db")
      #expect(error.description.contains("(\(option))"))
    }
  }
}
