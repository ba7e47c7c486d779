import Foundation
import Tandem

/// Spaces in a PostgreSQL database, beside PostgreSQL alone, spaces in files, and one node.
enum PostgreSQLCases {
  static let commits = BenchmarkGroup(name: "postgresql-commits") {
    try BenchmarkDisk.allCases.flatMap { disk in
      let database = try disk.use { try PostgreSQLServer() }
      let node = try SpaceServer(on: database)
      let memory = disk == .own ? try memory(of: node) : []
      let alone = node.commits("one client of one space", by: 1, count: 100)
      let plain = try plainInserts(database, clients: 64, transactions: 50)
      // Clients, node and database share two processors. What commits can share is the wait for the disk, which is
      // short on a fast one.
      return [
        Benchmark(
          name: "commits of one row by 64 clients to 64 spaces on PostgreSQL\(disk.suffix)",
          ours: node.commits("64 clients, 64 spaces", by: 64, to: 64, count: 50),
          others: [alone, plain],
          goals: [
            Benchmark.goal(atLeast: disk == .own ? 2 : 4, timesFasterThan: alone.name),
            Benchmark.goal(atLeast: 0.3, timesFasterThan: plain.name),
          ] + memory),
        Benchmark(
          name: "commits of one row by 64 clients to one space on PostgreSQL\(disk.suffix)",
          ours: node.commits("64 clients, one space", by: 64, count: 50), others: [alone],
          goals: [
            Benchmark.goal(atLeast: disk == .own ? 4 : 10, timesFasterThan: alone.name)
          ]),
      ]
    }
  }

  /// The memory that a node keeps for a space that it has served, and for a commit.
  private static func memory(of node: SpaceServer) throws -> [Benchmark.Goal] {
    func growth(_ clients: Int, _ spaces: Int, _ count: Int) throws -> Double {
      let before = node.residentByteCount
      let contender = node.commits("", by: clients, to: spaces, count: count)
      try contender.prepare()
      _ = try contender.run()
      return Double(node.residentByteCount - before)
    }
    // Until caches are full, and the allocator has its reserves.
    _ = try growth(64, 64, 100)
    _ = try growth(64, 1, 400)
    let (spaceCount, commitCount) = (2_000, 64 * 800)
    // A client commits to many spaces: each of them has one client.
    let perSpace = try (0..<spaceCount / 50).reduce(0.0) { sum, _ in
      try sum + growth(50, 50, 1)
    }
    let perCommit = try growth(64, 1, 800) / Double(commitCount)
    return [
      Benchmark.goal(
        atMost: 2_048, bytesPer: "space that the node has served",
        measured: perSpace / Double(spaceCount)),
      Benchmark.goal(
        // None is kept: an entry of one would take more.
        atMost: 64, bytesPer: "commit of a space, in the node", measured: perCommit),
    ]
  }

  /// Transactions of the rows that a commit of one row writes, in as many spaces as there are clients.
  private static func plainInserts(
    _ database: PostgreSQLServer, clients: Int, transactions: Int
  ) throws -> Benchmark.Contender {
    let first = 1_000_000
    try database.sql(
      """
      INSERT INTO tandem.space
        SELECT n, 'plain', 0, 0, '[]' FROM generate_series(\(first), \(first + clients)) n
      """)
    let folder = try TemporaryFolder()
    let script = folder.path("inserts.sql")
    try """
    \\set version :version + 1
    \\set space \(first) + :client_id
    \\startpipeline
    BEGIN;
    SELECT id FROM tandem.space WHERE id = :space FOR UPDATE;
    INSERT INTO tandem.record (space, tab, key, fields, version, created, field_versions, id)
      VALUES (:space, 'place', int8send(:version), '{"name": "Place number 7", "population": 55433}',
        :version, :version, '{}', md5(int8send(:version)));
    INSERT INTO tandem.change_count VALUES (:space, :version, 'place', 1);
    INSERT INTO tandem.history
      VALUES (:space, :version, :version, md5('digest'), md5(int8send(:version)), md5('replica'), 0);
    UPDATE tandem.space SET head = :version WHERE id = :space;
    INSERT INTO tandem.replica AS r
      VALUES (:space, md5('replica'), NULL, :version, md5(int8send(:version)), repeat('.', 140))
      ON CONFLICT (space, id) DO UPDATE SET sequence = excluded.sequence,
        commit_id = excluded.commit_id, outcome = excluded.outcome;
    COMMIT;
    \\endpipeline
    """.write(toFile: script, atomically: true, encoding: .utf8)
    var version = 0
    var milliseconds = 0.0
    return Benchmark.Contender(
      name: "pgbench, inserts of the same rows",
      run: {
        // A function of the folder, so that the file stays.
        _ = folder
        milliseconds = try database.pgbench(
          script, clients: clients, transactions: transactions, variables: ["version": version])
        version += transactions
        return nil
      }, stopwatch: .reported { milliseconds })
  }

  static let hints = BenchmarkGroup(name: "postgresql-hints") {
    let database = try PostgreSQLServer()
    let writers = try Program.spaceWriters()
    func contender(_ name: String, _ options: [String]) -> Benchmark.Contender {
      var milliseconds = 0.0
      let commitCount = 50
      return Benchmark.Contender(
        name: name, operationCount: 64 * commitCount,
        run: {
          let words = try writers.output(
            [database.address, "64", String(commitCount), "64"] + options
          ).split(separator: "\n")
          precondition(words.first == "\(64 * commitCount)", "all commits are accepted")
          milliseconds = words.last.flatMap { Double($0) } ?? .nan
          return nil
        }, stopwatch: .reported { milliseconds })
    }
    let without = contender("without notifications", ["--without-hints"])
    return [
      Benchmark(
        name: "commits by 64 writers to 64 spaces on PostgreSQL, of which other nodes are notified",
        ours: contender("with notifications", []), others: [without],
        goals: [Benchmark.goal(atMost: 1.1, times: without.name)])
    ]
  }

  static let nodes = BenchmarkGroup(name: "postgresql-nodes") {
    let database = try PostgreSQLServer()
    let nodes = [try SpaceServer(on: database), try SpaceServer(on: database)]
    func contender(_ name: String, from other: SpaceServer) throws -> Benchmark.Contender {
      let (space, base) = try nodes[0].makeSpace()
      var writer = SpaceWriter(
        try SpaceConnection(port: nodes[0].port), space: space, base: base)
      let stream = try SpaceConnection(port: other.port)
      try stream.get("/v1/spaces/\(space)/events?since=\(base)")
      try stream.read()
      let count = 50
      return Benchmark.Contender(name: name, operationCount: count) {
        // They run as long as the cases.
        _ = nodes
        for _ in 0..<count {
          try writer.commit()
          try stream.readEvent()
          _ = try writer.connection.answer()
        }
        return nil
      }
    }
    let one = try contender("to an event stream of the same node", from: nodes[0])
    return [
      Benchmark(
        name: "a commit through one node reaches an event stream of another one",
        ours: try contender("from the request to the event", from: nodes[1]), others: [one],
        goals: [Benchmark.goal(atMost: 2, times: one.name)])
    ]
  }

  /// A space of so many records, in files and in a database, which does not need them any more.
  private static func makeSpace(
    _ name: String, of count: Int, in folder: TemporaryFolder, _ database: PostgreSQLServer
  ) throws {
    let tandem = try Program.tandem()
    let space = "\(folder.path("spaces"))/\(name).space"
    try tandem.output([
      "attach", try folder.makePlaces("\(name).db", count: count), "--space", space, "--table",
      "place", "--allow-assigned-keys", "--quiet",
    ])
    try tandem.output(["sync", "--quiet", folder.path("\(name).db")])
    try FileManager.default.createDirectory(
      atPath: folder.path("moving"), withIntermediateDirectories: true)
    try FileManager.default.copyItem(
      atPath: space, toPath: "\(folder.path("moving"))/\(name).space")
    try tandem.output(["store", "copy", folder.path("moving"), database.address, name, "--quiet"])
  }

  static let million = BenchmarkGroup(name: "postgresql-million") {
    let (few, many) = (1_000, 1_000_000)
    let folder = try TemporaryFolder()
    let database = try PostgreSQLServer()
    let node = try SpaceServer(on: database)
    try FileManager.default.createDirectory(
      atPath: folder.path("spaces"), withIntermediateDirectories: true)
    for count in [few, many] { try makeSpace("places\(count)", of: count, in: folder, database) }
    try database.sql("ANALYZE")
    let files = try SpaceServer(in: folder)
    return [
      try firstSynchronization(of: many, folder, files: files, node, database),
      // Adds rows to the spaces, of which new replicas know nothing.
      try page(of: many, beside: few, node),
    ]
  }

  /// What a client does that is one change behind.
  private static func page(
    of many: Int, beside few: Int, _ node: SpaceServer
  ) throws -> Benchmark {
    func contender(_ name: String, _ count: Int) throws -> Benchmark.Contender {
      let space = "places\(count)"
      // Made anew for each run: the server closes one that waits while other cases run.
      var connection = try SpaceConnection(port: node.port)
      var known = ""
      let pageCount = 20
      return Benchmark.Contender(
        name: name, operationCount: pageCount,
        run: {
          for _ in 0..<pageCount {
            try connection.get("/v1/spaces/\(space)/changes?since=\(known)")
            let changes = try connection.answer().split(separator: #""version":"#).count - 1
            precondition(changes == 1, "the page has one change")
          }
          return pageCount
        },
        prepare: {
          connection = try SpaceConnection(port: node.port)
          known = try node.makeSpace(space)
          var writer = SpaceWriter(connection, space: space, base: known)
          try writer.commit()
          let answer = try connection.answer()
          precondition(answer.contains(#""outcome":"accepted""#), answer)
        })
    }
    let few = try contender("the same of \(few) records", few)
    return Benchmark(
      name: "a page of one change, of a space with \(many) records on PostgreSQL",
      ours: try contender("GET changes", many), others: [few],
      goals: [
        Benchmark.goal(withinMilliseconds: 5), Benchmark.goal(atMost: 1.2, times: few.name),
      ])
  }

  /// A new replica, beside a subscription of a table to another one of the same server.
  private static func firstSynchronization(
    of count: Int, _ folder: TemporaryFolder, files: SpaceServer, _ node: SpaceServer,
    _ database: PostgreSQLServer
  ) throws -> Benchmark {
    let tandem = try Program.tandem()
    func contender(_ name: String, _ server: SpaceServer) -> Benchmark.Contender {
      Benchmark.Contender(
        name: name,
        run: {
          try tandem.output(["sync", "--quiet", folder.path("copy.db")])
          return count
        },
        prepare: {
          folder.removeDatabase("copy.db")
          _ = try FloorDatabase(folder.path("copy.db"))
          try tandem.output([
            "attach", folder.path("copy.db"), "--server", server.url, "--space", "places\(count)",
            "--table", "place", "--allow-assigned-keys", "--quiet",
          ])
        })
    }
    let table =
      "CREATE TABLE public.place (id bigint PRIMARY KEY, name text, population bigint, latitude float8)"
    try database.sql(
      """
      \(table);
      INSERT INTO public.place
        SELECT n, 'Place number ' || n, n::bigint * 7919 % 1000003, n % 180 - 89.63
          FROM generate_series(0, \(count - 1)) n;
      CREATE PUBLICATION places FOR TABLE public.place;
      """)
    // The slot has to be made first where both tables are on one server.
    try database.sql("SELECT pg_create_logical_replication_slot('places', 'pgoutput')")
    try database.sql("CREATE DATABASE subscriber")
    try database.sql(table, in: "subscriber")
    let replication = Benchmark.Contender(
      name: "logical replication of PostgreSQL",
      run: {
        try database.sql(
          """
          CREATE SUBSCRIPTION places CONNECTION '\(database.address)' PUBLICATION places
            WITH (create_slot = false, slot_name = places)
          """, in: "subscriber")
        while try database.sql("SELECT srsubstate FROM pg_subscription_rel", in: "subscriber")
          != "r\n"
        {
          usleep(20_000)
        }
        return count
      },
      prepare: {
        if try database.sql("SELECT subname FROM pg_subscription", in: "subscriber") != "" {
          try database.sql("ALTER SUBSCRIPTION places DISABLE", in: "subscriber")
          try database.sql(
            "ALTER SUBSCRIPTION places SET (slot_name = NONE)", in: "subscriber")
          try database.sql("DROP SUBSCRIPTION places", in: "subscriber")
        }
        try database.sql("TRUNCATE public.place", in: "subscriber")
      })
    let file = contender("tandem sync, from a file", files)
    return Benchmark(
      name: "first synchronization of \(count) rows from PostgreSQL",
      ours: contender("tandem sync", node), others: [file, replication],
      goals: [Benchmark.goal(atMost: 1.5, times: file.name)])
  }
}
