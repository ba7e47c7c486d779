import Foundation
import Tandem

/// Typed records of a ``Database`` beside SQLite's C API.
///
/// Files lie in memory where the system has such a place, so that no disk hides what the code costs.
enum DatabaseCases {
  static let insertion = BenchmarkGroup(name: "database-insert") {
    let folder = try TemporaryFolder(inMemory: true)
    let places = (0..<200_000).map(Place.init(number:))
    let floorPlaces = FloorPlaces(places)
    _ = try folder.makePlaces("empty.db", count: 0)
    try prepareTracked(folder)
    func insert(into template: String) throws -> Int {
      let database = try Database(path: try folder.copyDatabase(template, to: "new.db"))
      try database.write { try $0.insert(contentsOf: places) }
      try database.close()
      return places.count
    }
    let typed = Benchmark.Contender(name: "insert(contentsOf:)") {
      try insert(into: "empty.db")
    }
    let tracked = Benchmark.Contender(name: "insert(contentsOf:), tracked") {
      try insert(into: "tracked.db")
    }
    let floor = Benchmark.Contender(name: "C, one prepared statement") {
      let path = try folder.copyDatabase("empty.db", to: "new.db")
      return try FloorDatabase(path).insert(floorPlaces)
    }
    return [
      Benchmark(
        name: "200,000 typed records inserted in one transaction", ours: typed, others: [floor],
        goals: [Benchmark.goal(atLeast: 0.7, timesFasterThan: floor.name)]),
      Benchmark(
        name: "200,000 typed records inserted into a tracked table", ours: tracked,
        others: [typed], goals: [Benchmark.goal(atMost: 2, times: typed.name)]),
    ]
  }

  private static func prepareTracked(_ folder: TemporaryFolder) throws {
    let database = try Database(path: try folder.copyDatabase("empty.db", to: "tracked.db"))
    _ = try blocking { try await database.track(table: "place") }
    try database.close()
  }

  static let reading = BenchmarkGroup(name: "database-read") {
    let folder = try TemporaryFolder(inMemory: true)
    let path = try folder.makePlaces("places.db", count: 1_000_000)
    let database = try Database(path: path)
    let connection = try FloorDatabase(path)
    let written = Benchmark.Contender(name: "fetchAll, decoded by hand") {
      // A function of the folder, so that the file stays.
      _ = folder
      return try database.read { try $0.fetchAll(Place.self) }.count
    }
    let derived = Benchmark.Contender(name: "fetchAll, Codable") {
      try database.read { try $0.fetchAll(CodablePlace.self) }.count
    }
    let floor = Benchmark.Contender(name: "C, stepping") { try connection.read() }
    // C makes no strings: allocating them is most of the difference.
    return [
      Benchmark(
        name: "1 M rows read into structures", ours: written, others: [floor],
        goals: [Benchmark.goal(atMost: 1.8, times: floor.name)]),
      Benchmark(
        name: "1 M rows read into Codable structures", ours: derived, others: [floor],
        goals: [Benchmark.goal(atMost: 3, times: floor.name)]),
    ]
  }
}

extension TemporaryFolder {
  /// Copies a closed database over another one, and returns its path.
  func copyDatabase(_ source: String, to destination: String) throws -> String {
    removeDatabase(destination)
    try FileManager.default.copyItem(atPath: path(source), toPath: path(destination))
    return path(destination)
  }
}
