import Tandem

// A table that follows a list: an address such as "https://example.org/places", or a file.
let source = RecordSource(CommandLine.arguments.dropFirst().first ?? "places.json")
let database = try Database(path: ":memory:")
let mirror = DatabaseMirror(table: "place", key: ["id"])
for await report in mirror.runs(from: source, into: database, every: .seconds(60)) {
  print(report)  // 2 inserted, 0 updated, 1 deleted
  if CommandLine.arguments.count < 2 { break }  // Without an address, once is enough.
}
