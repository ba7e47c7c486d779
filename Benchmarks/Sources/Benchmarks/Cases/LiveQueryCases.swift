import CFloors
import Dispatch
import Foundation
import Synchronization
import Tandem

/// Commits whose difference is awaited, beside the same commits with nobody watching.
///
/// Every time is that of the transaction and the way of its difference to the consumer together.
/// Files lie in memory where the system has such a place, so that no disk hides what the code costs.
enum LiveQueryCases {
  static let oneRow = BenchmarkGroup(name: "live-one-row") {
    let folder = try TemporaryFolder(inMemory: true)
    let large = try WatchedPlaces(folder.makePlaces("large.db", count: 1_000_000))
    let small = try WatchedPlaces(folder.makePlaces("small.db", count: 10_000))
    let bare = try FloorDatabase(folder.makePlaces("bare.db", count: 1_000_000))
    func updates(_ name: String, of count: Int, _ update: @escaping Update) -> Benchmark.Contender {
      .init(name: name, operationCount: 500) { try repeating(500, 1, of: count, folder, update) }
    }
    let observedSmall = updates("the same of 10,000 rows", of: 10_000, small.update)
    let transaction = updates("the transaction alone, in C", of: 1_000_000, bare.update)
    return [
      Benchmark(
        name: "one row of 1 M updated and its difference delivered",
        ours: updates("UPDATE, then its difference", of: 1_000_000, large.update),
        others: [observedSmall, transaction],
        goals: [
          Benchmark.goal(atMost: 20, times: transaction.name),
          Benchmark.goal(atMost: 1.5, times: observedSmall.name),
        ])
    ]
  }

  static let manyRows = BenchmarkGroup(name: "live-many-rows") {
    let folder = try TemporaryFolder(inMemory: true)
    let watched = try WatchedPlaces(folder.makePlaces("watched.db", count: 1_000_000))
    let unwatched = try Database(path: folder.makePlaces("unwatched.db", count: 1_000_000))
    let bare = try FloorDatabase(folder.makePlaces("bare.db", count: 1_000_000))
    return [(100, 100), (10_000, 2)].map { rowCount, commitCount in
      func commits(_ name: String, _ update: @escaping Update) -> Benchmark.Contender {
        .init(name: name, operationCount: commitCount) {
          try repeating(commitCount, rowCount, of: 1_000_000, folder, update)
        }
      }
      let transaction = commits("the transaction alone", unwatched.updatePlaces)
      return Benchmark(
        name: "\(rowCount) rows of 1 M updated one by one in a transaction",
        ours: commits("UPDATEs, then their difference", watched.update),
        others: [transaction, commits("the transaction alone, in C", bare.update)],
        goals: [Benchmark.goal(atMost: 2.5, times: transaction.name)])
    }
  }

  static let everyRow = BenchmarkGroup(name: "live-every-row") {
    let folder = try TemporaryFolder(inMemory: true)
    func contender(_ name: String, _ file: String, isTracked: Bool, isWatched: Bool) throws
      -> Benchmark.Contender
    {
      let path = try folder.makePlaces(file, count: 1_000_000)
      let database = try Database(path: path)
      if isTracked { _ = try blocking { try await database.track(table: "place") } }
      let places = isWatched ? try WatchedPlaces(path) : nil
      return .init(
        name: name,
        run: {
          _ = folder
          if let places { return try places.updateAll() }
          return try database.updateAllPlaces()
        }, stopwatch: .processorTime)
    }
    let bare = try contender(
      "the transaction alone", "bare.db", isTracked: false, isWatched: false)
    // Each changed row is read, compared and delivered, or written to the log of the table.
    return [
      Benchmark(
        name: "all of 1 M rows updated by one statement, watched",
        ours: try contender(
          "UPDATE, then its difference", "watched.db", isTracked: false, isWatched: true),
        others: [bare], goals: [Benchmark.goal(atMost: 5, times: bare.name)]),
      Benchmark(
        name: "all of 1 M rows updated by one statement, tracked",
        ours: try contender("UPDATE", "tracked.db", isTracked: true, isWatched: false),
        others: [bare], goals: [Benchmark.goal(atMost: 6, times: bare.name)]),
    ]
  }

  static let rerun = BenchmarkGroup(name: "live-rerun") {
    let folder = try TemporaryFolder(inMemory: true)
    let count = 300_000
    func benchmark(
      _ name: String, _ sql: SQL, isList: Bool = false,
      update: (Database, _ path: String) throws -> Update
    ) throws -> Benchmark {
      // A file for each, so that no other query runs again.
      let path = try folder.makePlaces("\(name).db", count: count)
      let database = try Database(path: path)
      try database.write { transaction in
        try transaction.execute("CREATE TABLE zone (id INTEGER PRIMARY KEY, name TEXT)")
        try transaction.execute("INSERT INTO zone SELECT id, 'zone ' || id FROM place LIMIT 180")
      }
      let update = try update(database, path)
      let before = floor_allocated_byte_count()
      let query = LiveQuery(sql, key: "id")
      let observer =
        isList
        ? DifferenceObserver(query.listDifferences(in: database)) { $0.count }
        : DifferenceObserver(query, in: database)
      _ = try observer.nextChangeCount()
      // The next difference comes when the first one, which has all rows, is no longer there.
      _ = try repeating(1, 1, of: count, folder, update)
      _ = try observer.nextChangeCount()
      let byteCount = Double(floor_allocated_byte_count() - before)
      return Benchmark(
        name: name,
        ours: .init(name: "UPDATE, then its difference") {
          let changedCount = try repeating(1, 1, of: count, folder, update)
          _ = try observer.nextChangeCount()
          return changedCount
        },
        others: [
          .init(name: "the query alone, fetchAll") {
            _ = try database.read { try $0.fetchAll(sql, as: ZonedPlace.self) }
            return nil
          }
        ],
        goals: [
          Benchmark.goal(atMost: 1.2, times: "the query alone, fetchAll"),
          Benchmark.goal(
            atMost: 120, bytesPer: "row of the result", measured: byteCount / Double(count)),
        ])
    }
    let join: SQL = """
      SELECT place.id, place.name, population, zone.name AS zone
      FROM place JOIN zone ON zone.id = place.id % 180
      """
    return [
      try benchmark(
        "a join of 300,000 rows runs again after one was updated", join,
        update: { database, _ in database.updatePlaces }),
      try benchmark(
        "the same as a list", join, isList: true,
        update: { database, _ in database.updatePlaces }),
      try benchmark(
        "a list by name, one of 300,000 rows updated by key",
        "SELECT id, name, population, '' AS zone FROM place ORDER BY name", isList: true,
        update: { database, _ in database.updatePlaces }),
      try benchmark(
        "another process updates one of 300,000 rows of a table without tracking",
        "SELECT id, name, population, '' AS zone FROM place",
        update: { _, path in try FloorDatabase(path).update }),
    ]
  }

  static let manyQueries = BenchmarkGroup(name: "live-many-queries") {
    let folder = try TemporaryFolder(inMemory: true)
    let tables = (0..<100).map { $0 == 0 ? "place" : "place\($0)" }
    func contender(_ name: String, watching tables: ArraySlice<String>) throws
      -> Benchmark.Contender
    {
      let path = try folder.makePlaces("\(tables.count).db", count: 10_000)
      let places = try WatchedPlaces(path, others: Array(tables.dropFirst()))
      return .init(name: name, operationCount: 500) {
        try repeating(500, 1, of: 10_000, folder, places.update)
      }
    }
    let one = try contender("UPDATE with 1 live query", watching: tables.prefix(1))
    return [
      Benchmark(
        name: "100 live queries on different tables, one of them written",
        ours: try contender("UPDATE with 100 live queries", watching: tables[...]),
        others: [one], goals: [Benchmark.goal(atMost: 1.1, times: one.name)])
    ]
  }

  static let equalQueries = BenchmarkGroup(name: "live-equal-queries") {
    let folder = try TemporaryFolder(inMemory: true)
    let count = 10_000
    func contender(_ name: String, observerCount: Int) throws -> Benchmark.Contender {
      let path = try folder.makePlaces("\(observerCount) observers.db", count: count)
      return .init(name: name) {
        let database = try Database(path: path)
        let observers = (0..<observerCount).map { _ in
          DifferenceObserver(LiveQuery(table: "place"), in: database)
        }
        var rowCount = 0
        for observer in observers { rowCount = try observer.nextChangeCount() }
        return rowCount
      }
    }
    func commits(_ name: String, observerCount: Int) throws -> Benchmark.Contender {
      let path = try folder.makePlaces("\(observerCount) of commits.db", count: count)
      let database = try Database(path: path)
      let observers = try (0..<observerCount).map { _ in
        let observer = DifferenceObserver(LiveQuery(table: "place"), in: database)
        _ = try observer.nextChangeCount()
        return observer
      }
      return .init(name: name, operationCount: 20) {
        try repeating(20, 1, of: count, folder) { ids, population in
          _ = try database.updatePlaces(ids, population: population)
          for observer in observers { _ = try observer.nextChangeCount() }
          return 1
        }
      }
    }
    let one = try contender("one of them", observerCount: 1)
    return [
      Benchmark(
        name: "1,000 equal live queries of 10,000 rows begin",
        ours: try contender(
          "from the first one's begin to the last one's rows", observerCount: 1_000),
        others: [one], goals: [Benchmark.goal(atMost: 2, times: one.name, plusMilliseconds: 20)]),
      Benchmark(
        name: "1,000 equal live queries get the difference of a commit",
        ours: try commits("UPDATE, then the last difference", observerCount: 1_000),
        others: [try commits("the same with one", observerCount: 1)],
        goals: [Benchmark.goal(withinMilliseconds: 16)]),
    ]
  }

  /// Sets the population of the rows with these ids, and returns how many changed.
  typealias Update = (_ ids: [Int64], _ population: Int64) throws -> Int

  /// Makes commits that change different rows each, all over the table.
  private static func repeating(
    _ commitCount: Int, _ rowCount: Int, of count: Int, _ folder: TemporaryFolder,
    _ update: Update
  ) throws -> Int {
    var changedCount = 0
    var number = 0
    // New in every run, so that each update changes its row.
    let population = Int64.random(in: 2_000_000...(.max))
    for _ in 0..<commitCount {
      let ids = (number..<number + rowCount).map { Int64($0 * 7_919 % count) }
      number += rowCount
      changedCount += try update(ids, population)
    }
    return changedCount
  }
}

/// A row of the join that runs again.
private struct ZonedPlace: RowDecodable {
  static let columnNames = ["id", "name", "population", "zone"]

  var id: Int64
  var name: String
  var population: Int64
  var zone: String

  init(row: inout RowDecoder) throws {
    id = try row.next()
    name = try row.next()
    population = try row.next()
    zone = try row.next()
  }
}

// MARK: - What is watched

/// A database whose table `place` is watched by a live query.
private final class WatchedPlaces: Sendable {
  private let database: Database
  private let observers: [DifferenceObserver]

  /// Other tables are created as copies of a few rows, and watched as well.
  init(_ path: String, others: [String] = []) throws {
    let database = try Database(path: path)
    try database.write { transaction in
      for table in others {
        try transaction.execute(
          "CREATE TABLE \(identifier: table) (id INTEGER PRIMARY KEY, name TEXT)")
        try transaction.execute(
          "INSERT INTO \(identifier: table) SELECT id, name FROM place LIMIT 100")
      }
    }
    self.database = database
    observers = try (["place"] + others).map { table in
      let observer = DifferenceObserver(LiveQuery(table: table), in: database)
      _ = try observer.nextChangeCount()
      return observer
    }
  }

  /// Commits, waits for the difference, and returns how many changes it holds.
  func update(_ ids: [Int64], population: Int64) throws -> Int {
    _ = try database.updatePlaces(ids, population: population)
    return try observers[0].nextChangeCount()
  }

  /// The same for all rows.
  func updateAll() throws -> Int {
    _ = try database.updateAllPlaces()
    return try observers[0].nextChangeCount()
  }
}

extension Database {
  fileprivate func updateAllPlaces() throws -> Int {
    try write { try $0.execute("UPDATE place SET population = population + 1") }
  }

  fileprivate func updatePlaces(_ ids: [Int64], population: Int64) throws -> Int {
    try write { transaction in
      var count = 0
      for id in ids {
        count += try transaction.execute(
          "UPDATE place SET population = \(population) WHERE id = \(id)")
      }
      return count
    }
  }
}

/// Hands the differences of a live query to a thread that waits for them.
private final class DifferenceObserver: Sendable {
  /// What has arrived and has not been asked for.
  private final class Arrivals: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let changeCounts = Mutex<[Result<Int, any Error>]>([])

    func append(_ changeCount: Result<Int, any Error>) {
      changeCounts.withLock { $0.append(changeCount) }
      semaphore.signal()
    }

    func next() throws -> Int {
      semaphore.wait()
      return try changeCounts.withLock { $0.removeFirst() }.get()
    }
  }

  private let arrivals = Arrivals()
  private let task: Task<Void, Never>

  convenience init(_ query: LiveQuery<Record>, in database: Database) {
    self.init(query.differences(in: database)) { $0.count }
  }

  init<Difference: Sendable>(
    _ differences: LiveSequence<Difference>,
    changeCount: @escaping @Sendable (Difference) -> Int
  ) {
    task = Task { [arrivals] in
      do {
        for try await difference in differences {
          arrivals.append(.success(changeCount(difference)))
        }
      } catch {
        arrivals.append(.failure(error))
      }
    }
  }

  deinit { task.cancel() }

  /// Waits for the next difference, and returns how many changes it holds.
  func nextChangeCount() throws -> Int { try arrivals.next() }
}
