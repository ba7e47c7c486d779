import Tandem

// A list from a server.
let json = #"[{"id": 1, "name": "Oslo", "visits": 3}, {"id": 2, "name": "Rome", "visits": 5}]"#
let places = try RecordReader.records(in: json, format: .json)

// A table that always equals the list, written in one transaction.
let database = try Database(path: ":memory:")
let mirror = DatabaseMirror(table: "place", key: ["id"])
let first = try mirror.run(places, into: database)
print("\(first.difference.inserted.count) inserted")  // 2 inserted

// Later, one place has a new name, one is missing, and one is new. Only this is written.
let later = #"[{"id": 2, "name": "Roma", "visits": 5}, {"id": 3, "name": "Kyiv", "visits": 1}]"#
let run = try mirror.run(RecordReader.records(in: later, format: .json), into: database)
for update in run.difference.updated {
  print("\(update.old["name"]) is now \(update.new["name"])")  // "Rome" is now "Roma"
}

// The difference of your own values, in one pass over two sorted versions.
struct Player: Equatable { var id: Int, score: Int }
let before = [Player(id: 1, score: 10), Player(id: 2, score: 20)]
let after = [Player(id: 2, score: 25), Player(id: 3, score: 0)]
let difference = try SetDifference(from: before, to: after, sortedBy: \.id)
print(difference.deleted.map(\.id), difference.updated.map(\.new.score))  // [1] [25]
