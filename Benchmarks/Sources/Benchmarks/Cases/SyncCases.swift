import Foundation
import Tandem

/// Databases that are kept in step, beside databases that are not.
///
/// Files lie in memory where the system has such a place, so that no disk hides what the code costs.
/// Where tasks take part, the figure is processor time.
enum SyncCases {
  /// The rows of one transaction.
  private static let batchCount = 10_000

  static let triggers = BenchmarkGroup(name: "sync-triggers") {
    let numbered = (0..<batchCount).map(Place.init(number:))
    let keyed = (0..<batchCount).map(KeyedPlace.init(number:))
    return try triggers("integer key", numbered, FloorPlaces(numbered))
      + triggers("text key", keyed, FloorPlaces(keyed))
  }

  /// What it costs that triggers keep the former versions of rows.
  private static func triggers<Row: PlaceRecord>(
    _ key: String, _ rows: [Row], _ floorRows: FloorPlaces
  ) throws -> [Benchmark] {
    let folder = try TemporaryFolder(inMemory: true)
    for (name, isFull) in [("empty", false), ("full", true)] {
      try folder.create("\(name).db", isFull ? rows : [])
      try folder.attach(
        try folder.copyDatabase("\(name).db", to: "\(name)-attached.db"),
        to: "\(name)-space.db")
    }
    func contender(
      _ name: String, _ template: String, _ run: @escaping (String) throws -> Int
    ) -> Benchmark.Contender {
      Benchmark.Contender(
        name: name,
        run: { try run(folder.path("new.db")) },
        prepare: { _ = try folder.copyDatabase(template, to: "new.db") },
        stopwatch: .processorTime)
    }
    func benchmark(
      _ name: String, _ template: String, atMost factor: Double,
      _ run: @escaping (String) throws -> Int
    ) -> Benchmark {
      let plain = contender("without triggers", "\(template).db", run)
      return Benchmark(
        name: "\(name), \(key)",
        ours: contender("attached table", "\(template)-attached.db", run), others: [plain],
        goals: [Benchmark.goal(atMost: factor, times: plain.name)])
    }
    return [
      benchmark(
        "\(batchCount) rows updated for the first time by another program", "full", atMost: 2.5
      ) { path in
        try FloorDatabase(path).update(floorRows, population: 7)
      },
      benchmark("\(batchCount) rows inserted by another program", "empty", atMost: 4) { path in
        try FloorDatabase(path).insert(floorRows)
      },
      benchmark("\(batchCount) records inserted by Tandem", "empty", atMost: 2) { path in
        let database = try Database(path: path)
        try database.write { try $0.insert(contentsOf: rows) }
        try database.close()
        return rows.count
      },
    ]
  }

  static let edit = BenchmarkGroup(name: "sync-edit") {
    let folder = try TemporaryFolder(inMemory: true)
    let tandem = try Program.tandem()
    /// The memory of the two first synchronizations of so many rows and of one of an edit.
    func memory(_ count: Int) throws -> (push: Int, pull: Int, edit: Int) {
      let space = folder.path("\(count)-space.db")
      func attach(_ name: String) throws {
        try tandem.output([
          "attach", folder.path(name), "--space", space, "--table", "place",
          "--allow-assigned-keys", "--quiet",
        ])
      }
      _ = try folder.makePlaces("\(count).db", count: count)
      try attach("\(count).db")
      let push = try tandem.peakByteCount(["sync", "--quiet", folder.path("\(count).db")])
      // The peaks of equal runs differ by as much as 5 MB.
      var pull = Int.max
      for _ in 0..<3 {
        _ = try FloorDatabase(folder.path("copy.db"))
        try attach("copy.db")
        pull = min(pull, try tandem.peakByteCount(["sync", "--quiet", folder.path("copy.db")]))
        folder.removeDatabase("copy.db")
      }
      _ = try FloorDatabase(folder.path("\(count).db")).update([7], population: -1)
      return (
        push, pull, try tandem.peakByteCount(["sync", "--quiet", folder.path("\(count).db")])
      )
    }
    // A commit and a page have at most 10,000 records: their memory is the same from there on, once the
    // caches are full and the allocator has its reserves.
    let (small, medium, large) = (1_000, 600_000, 1_000_000)
    let (least, some, most) = (try memory(small), try memory(medium), try memory(large))
    func bytesPerRow(_ bytes: Int, beyond count: Int) -> Double {
      Double(bytes) / Double(large - count)
    }
    let few = try edits("the same of 1,000 rows", of: small, folder)
    return [
      Benchmark(
        name: "one edit of 1 M rows in step",
        ours: try edits("UPDATE and sync", of: large, folder), others: [few],
        goals: [
          Benchmark.goal(atMost: 1.2, times: few.name),
          Benchmark.goal(
            atMost: 4, bytesPer: "row of the table, when one edit is synchronized",
            measured: bytesPerRow(most.edit - least.edit, beyond: small)),
          Benchmark.goal(
            atMost: 4, bytesPer: "row of the table, when all are sent",
            measured: bytesPerRow(most.push - some.push, beyond: medium)),
          Benchmark.goal(
            atMost: 4, bytesPer: "row of the table, when all are received",
            measured: bytesPerRow(most.pull - some.pull, beyond: medium)),
        ])
    ]
  }

  static let unique = BenchmarkGroup(name: "sync-unique") {
    let folder = try TemporaryFolder(inMemory: true)
    let count = 20_000
    func contender(_ name: String, _ file: String, _ rule: String) throws -> Benchmark.Contender {
      let database = try Database(path: folder.path("\(file).db"))
      try database.write {
        try $0.execute(
          SQL(
            text: """
              CREATE TABLE place (
                id INTEGER PRIMARY KEY, name TEXT NOT NULL\(rule), code TEXT NOT NULL\(rule))
              """))
        try $0.execute(
          """
          INSERT INTO place WITH RECURSIVE n(i) AS (
            SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
          SELECT i, 'name ' || i, 'code ' || i FROM n
          """)
      }
      try database.close()
      try folder.attach(folder.path("\(file).db"), to: "\(file)-space.db")
      return try edits(name, of: count, folder, file) { id, number in
        "UPDATE place SET name = \("name \(number)"), code = \("code \(number)") WHERE id = \(id)"
      }
    }
    let plain = try contender("the same without rules", "plain", "")
    return [
      Benchmark(
        name: "one edit of a row with two unique columns",
        ours: try contender("UPDATE and sync", "unique", " UNIQUE"), others: [plain],
        goals: [Benchmark.goal(atMost: 1.3, times: plain.name)])
    ]
  }

  /// Edits of single rows, each synchronized, of a table of so many that is in step.
  private static func edits(
    _ name: String, of count: Int, _ folder: TemporaryFolder, _ file: String? = nil,
    _ update: @escaping @Sendable (_ id: Int, _ number: Int) -> SQL = { id, number in
      "UPDATE place SET population = \(number) WHERE id = \(id)"
    }
  ) throws -> Benchmark.Contender {
    let editCount = 100
    let file = file ?? "\(count)"
    let replica = try OpenReplica(folder.path("\(file).db"), folder.path("\(file)-space.db"))
    var number = 0
    return Benchmark.Contender(
      name: name, operationCount: editCount,
      run: {
        for _ in 0..<editCount {
          number += 1
          let (id, population) = (number * 7_919 % count, -number)
          // A function of the folder, so that the files stay.
          _ = folder
          try replica.database.write { try $0.execute(update(id, population)) }
          let report = try blocking { try await replica.sync() }
          precondition(report.pushedCount == 1, "one change is sent")
        }
        return editCount
      }, stopwatch: .processorTime)
  }

  static let merge = BenchmarkGroup(name: "sync-merge") {
    let folder = try TemporaryFolder(inMemory: true)
    let count = 10_000
    let places = (0..<2 * count).map(KeyedPlace.init(number:))
    try folder.create("plain.db", places)
    // Files keep the path of their space, so each run has a copy of the space at this path.
    let space = "new-space.db"
    try folder.attach(try folder.copyDatabase("plain.db", to: "other.db"), to: space)
    try folder.attach(try folder.copyDatabase("plain.db", to: "own.db"), to: space)
    // The other replica changes one field of the rows, and this one another field of the same.
    let other = try OpenReplica(folder.path("other.db"), folder.path(space))
    try other.database.write {
      try $0.execute("UPDATE place SET population = -population - 1 WHERE rowid <= \(count)")
    }
    _ = try blocking { try await other.sync() }
    try other.close()
    _ = try folder.copyDatabase(space, to: "space.db")
    let own = try Database(path: folder.path("own.db"))
    try own.write {
      try $0.execute("UPDATE place SET name = name || ', changed' WHERE rowid <= \(count)")
    }
    try own.close()
    let merged = places.prefix(count).map { place in
      var place = place
      place.place.population = -place.place.population - 1
      place.place.name += ", changed"
      return place
    }
    let plain = Benchmark.Contender(
      name: "writing these rows plainly",
      run: {
        let database = try Database(path: folder.path("new.db"))
        let found = try database.write { transaction in
          try merged.reduce(0) { try $0 + (transaction.update($1) ? 1 : 0) }
        }
        try database.close()
        return found
      }, prepare: { _ = try folder.copyDatabase("plain.db", to: "new.db") },
      stopwatch: .processorTime)
    func contender(
      _ name: String, _ run: @escaping @Sendable (OpenReplica) async throws -> Void
    ) -> Benchmark.Contender {
      Benchmark.Contender(
        name: name,
        run: {
          let replica = try OpenReplica(folder.path("new.db"), folder.path(space))
          try blocking { try await run(replica) }
          let count = try replica.database.read {
            try $0.fetchAll(KeyedPlace.self, "WHERE population < 0 AND name LIKE '%, changed'")
          }.count
          try replica.close()
          return count
        },
        prepare: {
          _ = try folder.copyDatabase("own.db", to: "new.db")
          _ = try folder.copyDatabase("space.db", to: space)
        }, stopwatch: .processorTime)
    }
    // A merge reads three versions of a row, writes two, and keeps what it overrules.
    return [
      Benchmark(
        name: "10,000 edits merged with 10,000 others of the same rows",
        ours: contender("sync, until the result is sent") { try await $0.syncUntilPushing() },
        others: [plain],
        goals: [Benchmark.goal(atMost: 15, times: plain.name)]),
      Benchmark(
        name: "10,000 edits merged with 10,000 others of the same rows, and sent",
        ours: contender("sync") { _ = try await $0.sync() }, others: [plain],
        goals: [Benchmark.goal(atMost: 25, times: plain.name)]),
    ]
  }

  static let event = BenchmarkGroup(name: "sync-event") {
    let folder = try TemporaryFolder(inMemory: true)
    let unsentCount = 10_000
    try folder.create("plain.db", (0..<2 * unsentCount).map(KeyedPlace.init(number:)))
    // Files keep the path of their space, so each run has a copy of the space at this path.
    let space = "new-space.db"
    for name in ["other.db", "own.db"] {
      try folder.attach(try folder.copyDatabase("plain.db", to: name), to: space)
    }
    _ = try folder.copyDatabase(space, to: "before.db")
    let other = try OpenReplica(folder.path("other.db"), folder.path(space))
    try other.database.write {
      try $0.execute("UPDATE place SET population = -1 WHERE rowid = \(unsentCount + 1)")
    }
    _ = try blocking { try await other.sync() }
    try other.close()
    _ = try folder.copyDatabase(space, to: "after.db")
    let own = try Database(path: folder.path("own.db"))
    try own.write {
      try $0.execute("UPDATE place SET name = name || ', changed' WHERE rowid <= \(unsentCount)")
    }
    try own.close()
    func contender(_ name: String, _ spaceCopy: String) -> Benchmark.Contender {
      Benchmark.Contender(
        name: name,
        run: {
          let replica = try OpenReplica(folder.path("new.db"), folder.path(space))
          try blocking { try await replica.syncUntilPushing() }
          try replica.close()
          return nil
        },
        prepare: {
          _ = try folder.copyDatabase("own.db", to: "new.db")
          _ = try folder.copyDatabase(spaceCopy, to: space)
        }, stopwatch: .processorTime)
    }
    let alone = contender("the edits without it", "before.db")
    return [
      Benchmark(
        name: "one change received beside 10,000 edits that were not sent",
        ours: contender("sync, until the edits are sent", "after.db"), others: [alone],
        goals: [Benchmark.goal(atMost: 1, times: alone.name, plusMilliseconds: 5)])
    ]
  }

  static let writers = BenchmarkGroup(name: "sync-writers") {
    // On a disk: the time that it takes to make a commit durable is what writers share.
    let folder = try TemporaryFolder()
    let writers = try Program.spaceWriters()
    return try BenchmarkDisk.allCases.flatMap { disk in
      let floor = try disk.bareTransactions()
      func contender(_ writerCount: Int, _ commitCount: Int) -> Benchmark.Contender {
        let count = writerCount * commitCount
        return Benchmark.Contender(name: "space in a file", operationCount: count) {
          folder.removeDatabase("space.db")
          let accepted = try disk.use {
            try writers.output([
              folder.path("space.db"), String(writerCount), String(commitCount),
            ])
          }
          precondition(accepted.hasPrefix("\(count)\n"), "all commits are accepted")
          return nil
        }
      }
      return [
        Benchmark(
          name: "commits of one row by 64 writers at the same time\(disk.suffix)",
          ours: contender(64, 100), others: [floor],
          goals: [disk.goal(atLeast: 5, timesFasterThan: floor.name, orWithinMilliseconds: 0.3)]),
        Benchmark(
          name: "commits of one row by one writer\(disk.suffix)", ours: contender(1, 400),
          others: [floor],
          goals: [disk.goal(atLeast: 0.7, timesFasterThan: floor.name, orWithinMilliseconds: 1.5)]),
      ]
    }
  }
}

// MARK: - Files

/// A place with a key of either type.
protocol PlaceRecord: DatabaseRecord, Sendable {
  static var creation: SQL { get }
}

extension Place: PlaceRecord {}
extension KeyedPlace: PlaceRecord {}

extension TemporaryFolder {
  /// Makes a database of these rows.
  fileprivate func create<Row: PlaceRecord>(_ name: String, _ rows: [Row]) throws {
    let database = try Database(path: path(name))
    try database.write { transaction in
      try transaction.execute(Row.creation)
      try transaction.insert(contentsOf: rows)
    }
    try database.close()
  }

  /// Attaches a database to a space, and synchronizes it.
  fileprivate func attach(_ path: String, to space: String) throws {
    let replica = try OpenReplica(path, self.path(space), creates: true)
    try blocking {
      try await replica.attach()
      _ = try await replica.sync()
    }
    try replica.close()
  }
}

/// A replica and its space, both open.
private struct OpenReplica: Sendable {
  let database: Database
  private let space: SyncSpace
  private let replica: DatabaseReplica

  init(_ path: String, _ spacePath: String, creates: Bool = false) throws {
    database = try Database(path: path)
    space = try blocking { try await SyncSpace.file(spacePath, creates: creates) }
    replica = DatabaseReplica(database)
  }

  func attach() async throws {
    try await replica.attach([AttachedTable("place", allowsAssignedKeys: true)], to: space)
  }

  func sync() async throws -> DatabaseReplica.Report { try await replica.sync(with: space) }

  /// Synchronizes until the local changes are ready to be sent, and stops.
  func syncUntilPushing() async throws {
    do {
      try await replica.sync(
        with: space,
        reporting: { status, _ in
          if case .pushing = status { withUnsafeCurrentTask { $0?.cancel() } }
        })
      preconditionFailure("there are changes to send")
    } catch is CancellationError {}
  }

  func close() throws {
    try database.close()
    try blocking { await space.close() }
  }
}
