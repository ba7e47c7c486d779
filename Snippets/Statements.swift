import Tandem

let database = try Database(path: ":memory:")
try database.write { transaction in
  try transaction.execute("CREATE TABLE draft (id INTEGER PRIMARY KEY, name TEXT, area REAL)")
  try transaction.execute("CREATE TABLE final (id INTEGER PRIMARY KEY, name TEXT, area REAL)")
  // Interpolated values are bound, never spliced into the text.
  for (id, name, area) in [(1, "Lago di Como", 146), (2, "Bodensee", 536)] {
    try transaction.execute("INSERT INTO draft VALUES (\(id), \(name), \(area))")
  }
  try transaction.execute("INSERT INTO final VALUES (2, 'Bodensee', 535.9), (3, 'Vänern', 5648)")
}

// The rows of any query are records, with the exact values stored.
let lakes: [Record] = try database.read { transaction in
  try transaction.fetchAll("SELECT name, area FROM draft WHERE area > \(100) ORDER BY id")
}
for lake in lakes { print(lake["name"], lake["area"]) }
// "Lago di Como" 146.0, then "Bodensee" 536.0

// Two tables, of one database or of two, compared in the order of their keys, in constant memory.
try database.read { transaction in
  guard let draft = try transaction.schema(ofTable: "draft"),
    let final = try transaction.schema(ofTable: "final")
  else { return }
  let tables = TableComparison(from: draft, to: final, key: ["id"])
  try tables.forEachChange(from: transaction, to: transaction) { change in
    if case .updated(let old, let new) = change { print(old["area"], "→", new["area"]) }
  }  // 536.0 → 535.9
}

// A list and a table are compared as the table would store the list.
let list = try RecordReader.records(
  in: Array("id,name,area\n2,Bodensee,535.9\n".utf8), format: .csv)
if let final = try database.read({ try $0.schema(ofTable: "final") }) {
  let comparison = RecordComparison(from: .list(list), to: .table(final, database), key: ["id"])
  try comparison.forEachChange { change in
    if case .inserted(let record) = change { print("only the table has", record["name"]) }
  }  // only the table has "Vänern"
}

// Two files, such as a backup and the database: all tables, indexes, views and triggers.
let objects = try DatabaseComparison(from: nil, to: database).forEachTable { table in
  try table.forEachChange { change in
    if case .inserted(let row) = change { print(table.name, "has", row["name"]) }
  }
}
print(objects.count)  // 0
