import Foundation
import Tandem

/// A `tandem serve` on loopback, beside transactions on the disk of its spaces.
enum ServerCases {
  static let commits = BenchmarkGroup(name: "server-commits") {
    try BenchmarkDisk.allCases.flatMap(commits)
  }

  private static func commits(on disk: BenchmarkDisk) throws -> [Benchmark] {
    let server = try disk.use { try SpaceServer(in: TemporaryFolder()) }
    let floor = try disk.bareTransactions()
    let name = "commits to tandem serve"
    return [
      Benchmark(
        name: "commits of one row by 64 clients of a server\(disk.suffix)",
        ours: server.commits(name, by: 64, count: 30), others: [floor],
        goals: [disk.goal(atLeast: 5, timesFasterThan: floor.name, orWithinMilliseconds: 0.5)]),
      Benchmark(
        name: "commits of one row by one client of a server\(disk.suffix)",
        ours: server.commits(name, by: 1, count: 200), others: [floor],
        goals: [disk.goal(atLeast: 0.6, timesFasterThan: floor.name, orWithinMilliseconds: 3)]),
    ]
  }

  static let latency = BenchmarkGroup(name: "server-latency") {
    let folder = try TemporaryFolder()
    let server = try SpaceServer(in: folder)
    let floor = try BenchmarkDisk.own.bareTransactions()
    func contender(_ name: String, _ rowCount: Int) throws -> Benchmark.Contender {
      let pair = try ReplicaPair(rowCount, "rows\(rowCount)", server.url, in: folder)
      let editCount = 20
      return Benchmark.Contender(name: name, operationCount: editCount) {
        // The server runs as long as the cases.
        _ = server
        try blocking { for _ in 0..<editCount { try await pair.edit() } }
        return nil
      }
    }
    let few = try contender("the same of 1,000 rows", 1_000)
    return [
      Benchmark(
        name:
          "a commit on one machine, until the loop over a query on another one has it, 1 M rows",
        ours: try contender("UPDATE, server, for await", 1_000_000), others: [few, floor],
        goals: [
          Benchmark.goal(atMost: 2, times: floor.name, plusMilliseconds: 3),
          Benchmark.goal(atMost: 1.2, times: few.name),
        ])
    ]
  }

  static let streams = BenchmarkGroup(name: "server-streams") {
    let count = 2_000
    let folder = try TemporaryFolder()
    let server = try SpaceServer(in: folder)
    let base = try server.makeSpace("streams")
    var writer = SpaceWriter(
      try SpaceConnection(port: server.port), space: "streams", base: base)
    let before = server.residentByteCount
    let streams = try (0..<count).map { _ in
      let connection = try SpaceConnection(port: server.port)
      try connection.get("/v1/spaces/streams/events?since=\(base)")
      try connection.read()
      return connection
    }
    let perStream = Double(server.residentByteCount - before) / Double(count)
    return [
      Benchmark(
        name: "a commit reaches \(count) event streams",
        ours: Benchmark.Contender(name: "from the request to the last event") {
          // The server runs as long as the cases.
          _ = server
          try writer.commit()
          var waiting = streams
          while !waiting.isEmpty {
            let ready = try SpaceConnection.readable(waiting)
            for connection in ready { try connection.read() }
            let done = Set(ready.map(\.descriptor))
            waiting.removeAll { done.contains($0.descriptor) }
          }
          _ = try writer.connection.answer()
          return nil
        }, others: [],
        goals: [
          Benchmark.goal(withinMilliseconds: 100),
          Benchmark.goal(
            atMost: 16_384, bytesPer: "idle event stream in the server", measured: perStream),
        ])
    ]
  }

  static let bytes = BenchmarkGroup(name: "server-bytes") {
    let folder = try TemporaryFolder()
    let server = try SpaceServer(in: folder)
    let relays = [try CountingRelay(to: server.port), try CountingRelay(to: server.port)]
    let pair = try ReplicaPair(
      10, "bytes", relays.map { "http://127.0.0.1:\($0.port)" }, in: folder)
    let editCount = 20
    try blocking { try await pair.edit() }
    let before = relays.map(\.counts)
    try blocking { for _ in 0..<editCount { try await pair.edit() } }
    let after = relays.map(\.counts)
    func perEdit(_ count: (CountingRelay.Counts) -> Int, _ place: Int) -> Double {
      Double(count(after[place]) - count(before[place])) / Double(editCount)
    }
    let request = perEdit(\.requests, 0)
    let delivery = perEdit(\.requests, 1) + perEdit(\.events, 1)
    return [
      Benchmark(
        name: "the bytes on the wire of one changed row",
        ours: Benchmark.Contender(name: "UPDATE, server, for await", operationCount: editCount) {
          _ = server
          try blocking { for _ in 0..<editCount { try await pair.edit() } }
          return nil
        }, others: [],
        goals: [
          // Both ways together, on the connections of each of the two replicas.
          Benchmark.goal(atMost: 600, bytesPer: "commit and its answer", measured: request),
          Benchmark.goal(
            atMost: 600, bytesPer: "event of the commit at another replica", measured: delivery),
        ])
    ]
  }
}

extension SpaceServer {
  /// Commits of one row: so many clients make `count` of them, one after the other.
  ///
  /// - Parameter spaceCount: The number of new spaces that the clients write to in turn.
  func commits(
    _ name: String, by writerCount: Int, to spaceCount: Int = 1, count: Int
  ) -> Benchmark.Contender {
    var writers: [SpaceWriter] = []
    return Benchmark.Contender(
      name: name, operationCount: writerCount * count,
      run: {
        for place in writers.indices { try writers[place].commit() }
        var remaining = writers.map { _ in count }
        while remaining.contains(where: { $0 > 0 }) {
          for connection in try SpaceConnection.readable(writers.map(\.connection)) {
            try connection.read()
            guard let answer = connection.completeAnswer(),
              let place = writers.firstIndex(where: { $0.connection === connection })
            else { continue }
            precondition(answer.contains(#""outcome":"accepted""#), answer)
            remaining[place] -= 1
            if remaining[place] > 0 { try writers[place].commit() }
          }
        }
        return nil
      },
      prepare: { [self] in
        let spaces = try (0..<spaceCount).map { _ in try makeSpace() }
        writers = try (0..<writerCount).map { number in
          let space = spaces[number % spaceCount]
          return SpaceWriter(try SpaceConnection(port: port), space: space.name, base: space.base)
        }
      })
  }
}

/// Two replicas of one space that run, the second one with a live query.
private final class ReplicaPair: Sendable {
  private let first: Database
  private let runs: [Task<Void, any Error>]
  private let population: AsyncStream<Int>
  private let folder: TemporaryFolder
  private let numbers = Numbers()

  private actor Numbers {
    private var last = 0
    func next() -> Int {
      last += 1
      return last
    }
  }

  convenience init(
    _ rowCount: Int, _ space: String, _ url: String, in folder: TemporaryFolder
  ) throws {
    try self.init(rowCount, space, [url, url], in: folder)
  }

  init(_ rowCount: Int, _ space: String, _ urls: [String], in folder: TemporaryFolder) throws {
    self.folder = folder
    let path = try folder.makePlaces("\(space)-0.db", count: rowCount)
    _ = try folder.copyDatabase("\(space)-0.db", to: "\(space)-1.db")
    let databases = try [path, folder.path("\(space)-1.db")].map { try Database(path: $0) }
    first = databases[0]
    runs = try blocking {
      var runs: [Task<Void, any Error>] = []
      for (database, url) in zip(databases, urls) {
        let space = try SyncSpace.server(url, space: space)
        let replica = DatabaseReplica(database)
        try await replica.attach([AttachedTable("place", allowsAssignedKeys: true)], to: space)
        _ = try await replica.sync(with: space)
        runs.append(Task { try await replica.run(with: space) })
      }
      return runs
    }
    let second = databases[1]
    let (stream, continuation) = AsyncStream<Int>.makeStream()
    population = stream
    Task {
      let query = LiveQuery("SELECT id, population FROM place WHERE id = 7", key: "id")
      for try await rows in query.values(in: second) {
        if case .integer(let population)? = rows.first?["population"] {
          continuation.yield(Int(population))
        }
      }
    }
  }

  deinit { for run in runs { run.cancel() } }

  /// Changes a row in the first file, and returns when the query on the second one has it.
  func edit() async throws {
    let number = await -numbers.next()
    try await first.write {
      try $0.execute("UPDATE place SET population = \(number) WHERE id = 7")
    }
    for await population in population where population == number { return }
    throw Program.Failure(description: "the edit did not arrive")
  }
}
