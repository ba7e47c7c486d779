import Tandem

let database = try DatabaseConnection(path: ":memory:")
try database.execute("CREATE TABLE draft (id INTEGER PRIMARY KEY, name TEXT, area REAL)")
try database.execute("CREATE TABLE final (id INTEGER PRIMARY KEY, name TEXT, area REAL)")

// Values are bound, never spliced into the text, and come back exactly as they were stored.
let insertion: Statement = try database.prepare("INSERT INTO draft VALUES (?, ?, ?)")
try insertion.run([1, "Lago di Como", 146])
try insertion.run([2, "Bodensee", 536])
try database.execute("INSERT INTO final VALUES (2, 'Bodensee', 535.9), (3, 'Vänern', 5648)")

let query = try database.prepare("SELECT name, area FROM draft WHERE area > ? ORDER BY id")
try query.bind([100])
while try query.step() { print(try query.value(at: 0), try query.value(at: 1)) }
// "Lago di Como" 146.0, then "Bodensee" 536.0

// Two tables, of one file or of two, compared in the order of their keys, in constant memory.
if let draft = try database.schema(ofTable: "draft"),
  let final = try database.schema(ofTable: "final")
{
  let tables = try TableComparison(
    from: draft, of: database, to: final, of: database, key: ["id"])
  try tables.forEachChange { change in
    if case .updated(let old, let new) = change { print(old["area"], "→", new["area"]) }
  }  // 536.0 → 535.9

  // A list beside a table is compared as the table would store it.
  let list = try RecordReader.records(
    in: Array("id,name,area\n2,Bodensee,535.9\n".utf8), format: .csv)
  let comparison = RecordComparison(
    from: .list(list), to: .table(final, database), key: ["id"])
  try comparison.forEachChange { change in
    if case .inserted(let record) = change { print("only the table has", record["name"]) }
  }  // only the table has "Vänern"
}
