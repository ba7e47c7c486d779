import Foundation

/// The command-line tool beside SQLite's own, as whole processes.
enum CommandCases {
  static let diff = BenchmarkGroup(name: "command-diff") {
    let folder = try TemporaryFolder()
    let change = """
      DELETE FROM t WHERE rowid % 300 = 0;
      UPDATE t SET name = name || ' changed' WHERE rowid % 300 = 1;
      """
    let one = "UPDATE t SET a = -1 WHERE rowid = 567890"
    let numbered = try DatabaseVersions(
      folder, "numbered", key: "id INTEGER PRIMARY KEY", keyOfRow: "i",
      changes: [
        "changed": change
          + "INSERT INTO t SELECT id + 2000000, name, a, b FROM t WHERE id % 300 = 2;",
        "rewritten": "UPDATE t SET name = name || ' changed' WHERE rowid % 10 = 1;", "one": one,
      ])
    let named = try DatabaseVersions(
      folder, "named", key: "id TEXT PRIMARY KEY", keyOfRow: "hex(randomblob(16))",
      changes: [
        "changed": change
          + "INSERT INTO t SELECT id || 'x', name, a, b FROM t WHERE rowid % 300 = 2;",
        "one": one,
      ])
    let numbers = 1...29
    let wide = try DatabaseVersions(
      folder, "wide", rowCount: 300_000,
      columns: "id INTEGER PRIMARY KEY, " + numbers.map { "c\($0)" }.joined(separator: ", "),
      row: "i, " + numbers.map { "i * \($0)" }.joined(separator: ", "),
      changes: ["changed": "UPDATE t SET c7 = -1 WHERE id % 10 = 1"])
    let blobs = try DatabaseVersions(
      folder, "blobs", rowCount: 30_000, columns: "id INTEGER PRIMARY KEY, b BLOB",
      row: "i, randomblob(4096)",
      changes: ["changed": "UPDATE t SET b = randomblob(4096) WHERE id % 100 = 1"])
    return [
      try numbered.benchmark(
        "difference of two SQLite files, 1 M rows, 1 % changed", "changed", atLeast: 1.3),
      try numbered.benchmark(
        "difference of two SQLite files, 1 M rows, 10 % updated", "rewritten", atLeast: 1),
      try named.benchmark(
        "difference of two SQLite files by a TEXT key, 1 M rows, 1 % changed", "changed",
        atLeast: 1),
      try numbered.benchmark(
        "difference of two SQLite files, 1 M rows, one updated", "one", atLeast: 10),
      try named.benchmark(
        "difference of two SQLite files by a TEXT key, 1 M rows, one updated", "one", atLeast: 10),
      try wide.benchmark(
        "difference of two SQLite files, 300,000 rows of 30 columns, 10 % updated", "changed",
        atLeast: 1),
      try blobs.benchmark(
        "difference of two SQLite files, 30,000 blobs of 4 KiB, 1 % updated", "changed",
        atLeast: 1),
    ]
  }

  /// The well-known tools for this job, from PyPI.
  static let lists = BenchmarkGroup(name: "command-lists") {
    let folder = try TemporaryFolder()
    let (tandem, csvDiff) = (try Program.tandem(), try Program.peer("csv-diff"))
    let daff = try Program.peer("daff")
    let files = ["old.csv", "new.csv"]
    let old = (0..<50_000).map { "\($0),Place number \($0),\($0 * 7_919 % 1_000_003),DE" }
    let new = old.indices.compactMap { index in
      index % 300 == 0 ? nil : old[index] + (index % 300 == 1 ? "E" : "")
    }
    for (file, lines) in zip(files, [old, new]) {
      try (["id,name,number,country"] + lines).map { $0 + "\n" }.joined()
        .write(toFile: folder.path(file), atomically: true, encoding: .utf8)
    }
    return [
      Benchmark(
        name: "difference of two CSV files, 50,000 records, 1 of 150 changed",
        ours: .init(name: "tandem diff") {
          // Two lines name the files.
          try tandem.output(["diff", "--key", "id"] + files.map(folder.path), statuses: [1])
            .lineCount - 2
        },
        others: [
          .init(name: "csv-diff") {
            // The first line: 167 rows changed, 167 rows removed
            let line = try csvDiff.output(["--key=id"] + files.map(folder.path)).prefix {
              $0 != "\n"
            }
            return line.split(separator: " ").compactMap { Int($0) }.reduce(0, +)
          },
          .init(name: "daff") {
            try daff.output(["diff", "--no-color", "--id", "id"] + files.map(folder.path)).split(
              separator: "\n"
            )
            .count { $0.hasPrefix("---") || $0.hasPrefix("->") }
          },
        ],
        goals: [
          Benchmark.goal(atLeast: 3, timesFasterThan: "csv-diff"),
          Benchmark.goal(atLeast: 30, timesFasterThan: "daff"),
        ])
    ]
  }

  static let mirror = BenchmarkGroup(name: "command-mirror") {
    let folder = try TemporaryFolder()
    let sqlite = try Program.system("sqlite3")
    let tandem = try Program.tandem()
    let sqliteUtils = try Program.peer("sqlite-utils")
    let list = folder.path("list.json")
    try places(100_000).write(toFile: list, atomically: true, encoding: .utf8)
    let insertion = """
      CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, country TEXT, latitude REAL,
        longitude REAL, comment TEXT);
      INSERT INTO t SELECT value ->> 'id', value ->> 'name', value ->> 'country',
        value ->> 'latitude', value ->> 'longitude', value ->> 'comment'
        FROM json_each(readfile('\(list)'));
      SELECT count(*) FROM t;
      """
    func mirror(into database: String) throws -> Int? {
      let arguments = ["mirror", list, folder.path(database), "--table", "t", "--key", "id"]
      return try tandem.output(arguments).split(separator: "\n").last
        .flatMap { Int($0.prefix { $0.isNumber }) }
    }
    _ = try mirror(into: "unchanged.db")
    let first = Benchmark.Contender(name: "tandem mirror into a new table") {
      folder.removeDatabase("new.db")
      return try mirror(into: "new.db")
    }
    let json = Benchmark.Contender(name: "sqlite3, INSERT … FROM json_each") {
      folder.removeDatabase("json.db")
      return Int(try sqlite.output([folder.path("json.db"), insertion]).dropLast())
    }
    let utils = Benchmark.Contender(name: "sqlite-utils insert") {
      folder.removeDatabase("utils.db")
      try sqliteUtils.output(["insert", folder.path("utils.db"), "t", list, "--pk", "id"])
      return nil
    }
    let second = Benchmark.Contender(name: "tandem mirror, nothing changed") {
      guard try mirror(into: "unchanged.db") == 0 else {
        throw Program.Failure(description: "an unchanged list was written again")
      }
      return nil
    }
    return [
      Benchmark(
        name: "100,000 records of a JSON file into a new table", ours: first,
        others: [json, utils],
        goals: [
          Benchmark.goal(atMost: 3, times: json.name),
          Benchmark.goal(atLeast: 2, timesFasterThan: utils.name),
        ]),
      Benchmark(
        name: "100,000 records of a JSON file, nothing changed", ours: second, others: [first],
        goals: [Benchmark.goal(atMost: 0.5, times: first.name)]),
    ]
  }

  static let start = BenchmarkGroup(name: "command-start") {
    let tandem = try Program.tandem()
    let sqlite = try Program.system("sqlite3")
    let curl = try Program.system("curl")
    func contender(_ name: String, _ program: Program) -> Benchmark.Contender {
      .init(
        name: name, operationCount: 20,
        run: {
          for _ in 0..<20 { try program.output(["--version"]) }
          return nil
        }, stopwatch: .processorTimeOfPrograms)
    }
    return [
      Benchmark(
        name: "start of the tool, processor time",
        ours: contender("tandem --version", tandem),
        others: [contender("curl --version", curl), contender("sqlite3 --version", sqlite)],
        // Nearly all of it is the loading of libcurl and of the libraries of both.
        goals: [Benchmark.goal(atMost: 2, times: "curl --version")])
    ]
  }

  /// So many places as a JSON array, 15 MB for 100,000.
  static func places(_ count: Int) -> String {
    var generator = SplitMix64(seed: 5)
    let lines = (0..<count).map { id in
      let latitude = Double(Int.random(in: -9_000_000...9_000_000, using: &generator)) / 100_000
      let longitude = Double(Int.random(in: -18_000_000...18_000_000, using: &generator)) / 100_000
      let country = ["DE", "FR", "IT", "JP"].randomElement(using: &generator) ?? ""
      return """
        {"id": \(id), "name": "Place number \(id)", "country": "\(country)", "latitude": \(latitude), \
        "longitude": \(longitude), "comment": "Lorem ipsum dolor sit amet \(id * 7)"}
        """
    }
    return "[" + lines.joined(separator: ",\n") + "]\n"
  }
}

/// A table, and copies of its file in which rows were changed.
private struct DatabaseVersions {
  private let folder: TemporaryFolder
  private let name: String
  private let tandem: Program
  private let sqldiff: Program

  init(
    _ folder: TemporaryFolder, _ name: String, key: String, keyOfRow: String,
    changes: [String: String]
  ) throws {
    try self.init(
      folder, name, rowCount: 1_000_000, columns: "\(key), name TEXT, a INTEGER, b REAL",
      row: "\(keyOfRow), 'name of row ' || i, i * 7919 % 1000003, i * 0.37", changes: changes)
  }

  init(
    _ folder: TemporaryFolder, _ name: String, rowCount: Int, columns: String, row: String,
    changes: [String: String]
  ) throws {
    self.folder = folder
    self.name = name
    tandem = try Program.tandem()
    sqldiff = try Program.system("sqldiff")
    let sqlite = try Program.system("sqlite3")
    let create = """
      CREATE TABLE t (\(columns));
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < \(rowCount - 1))
      INSERT INTO t SELECT \(row) FROM n;
      """
    try sqlite.output([folder.path("\(name).db"), create])
    for (version, change) in changes {
      let path = folder.path("\(name)-\(version).db")
      try FileManager.default.copyItem(atPath: folder.path("\(name).db"), toPath: path)
      try sqlite.output([path, change])
    }
  }

  func benchmark(
    _ title: String, _ version: String, atLeast factor: Double
  ) throws -> Benchmark {
    let files = ["\(name).db", "\(name)-\(version).db"]
    return Benchmark(
      name: title,
      ours: .init(name: "tandem diff") {
        // Two lines name the files.
        try tandem.output(["diff"] + files.map(folder.path), statuses: [1]).lineCount - 2
      },
      others: [
        .init(name: "sqldiff") { try sqldiff.output(files.map(folder.path)).lineCount }
      ],
      goals: [Benchmark.goal(atLeast: factor, timesFasterThan: "sqldiff")])
  }
}

extension String {
  fileprivate var lineCount: Int { utf8.count { $0 == UInt8(ascii: "\n") } }
}
