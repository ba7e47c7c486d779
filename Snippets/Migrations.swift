import Tandem

let migrations = [
  DatabaseMigration("create lakes") { transaction in
    try transaction.execute("CREATE TABLE lake (id INTEGER PRIMARY KEY, name TEXT)")
  },
  DatabaseMigration("add depths") { transaction in
    try transaction.execute("ALTER TABLE lake ADD COLUMN depth REAL")
  },
]

// Each migration runs once in the life of a file, in a transaction.
let database = try Database(path: ":memory:")
print(try database.migrate(migrations))  // ["create lakes", "add depths"]
print(try database.migrate(migrations))  // []

// With tracking, live queries read only the rows that changed, also if another program changed them.
let blindSpots = try await database.track(table: "lake")
print(blindSpots)  // []: tracking sees every change of this table
try database.close()
