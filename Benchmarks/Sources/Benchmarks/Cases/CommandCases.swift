import Foundation

/// The command-line tool beside SQLite's own, as whole processes.
enum CommandCases {
  static let diff = BenchmarkGroup(name: "command-diff") {
    let folder = try TemporaryFolder()
    let change = """
      DELETE FROM t WHERE rowid % 300 = 0;
      UPDATE t SET name = name || ' changed' WHERE rowid % 300 = 1;
      """
    let numbered = try DatabaseVersions(
      folder, "numbered", key: "id INTEGER PRIMARY KEY", keyOfRow: "i",
      changes: [
        "changed": change
          + "INSERT INTO t SELECT id + 2000000, name, a, b FROM t WHERE id % 300 = 2;",
        "rewritten": "UPDATE t SET name = name || ' changed' WHERE rowid % 10 = 1;",
      ])
    let named = try DatabaseVersions(
      folder, "named", key: "id TEXT PRIMARY KEY", keyOfRow: "hex(randomblob(16))",
      changes: [
        "changed": change
          + "INSERT INTO t SELECT id || 'x', name, a, b FROM t WHERE rowid % 300 = 2;"
      ])
    return [
      try numbered.benchmark(
        "difference of two SQLite files, 1 M rows, 1 % changed", "changed", atLeast: 1.3),
      try numbered.benchmark(
        "difference of two SQLite files, 1 M rows, 10 % updated", "rewritten", atLeast: 1),
      try named.benchmark(
        "difference of two SQLite files by a TEXT key, 1 M rows, 1 % changed", "changed",
        atLeast: 1),
    ]
  }

  static let mirror = BenchmarkGroup(name: "command-mirror") {
    let folder = try TemporaryFolder()
    let sqlite = try Program.system("sqlite3")
    let tandem = try Program.tandem()
    let list = folder.path("list.json")
    try records.write(toFile: list, atomically: true, encoding: .utf8)
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
    let second = Benchmark.Contender(name: "tandem mirror, nothing changed") {
      guard try mirror(into: "unchanged.db") == 0 else {
        throw Program.Failure(description: "an unchanged list was written again")
      }
      return nil
    }
    return [
      Benchmark(
        name: "100,000 records of a JSON file into a new table", ours: first, others: [json],
        goals: [Benchmark.goal(atMost: 3, times: json.name)]),
      Benchmark(
        name: "100,000 records of a JSON file, nothing changed", ours: second, others: [first],
        goals: [Benchmark.goal(atMost: 0.5, times: first.name)]),
    ]
  }

  /// 100,000 places as a JSON array of 15 MB.
  private static var records: String {
    var generator = SplitMix64(seed: 5)
    let lines = (0..<100_000).map { id in
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

/// A table of 1 M rows, and copies of its file in which rows were changed.
private struct DatabaseVersions {
  private let folder: TemporaryFolder
  private let name: String
  private let tandem: Program
  private let sqldiff: Program

  init(
    _ folder: TemporaryFolder, _ name: String, key: String, keyOfRow: String,
    changes: [String: String]
  ) throws {
    self.folder = folder
    self.name = name
    tandem = try Program.tandem()
    sqldiff = try Program.system("sqldiff")
    let sqlite = try Program.system("sqlite3")
    let create = """
      CREATE TABLE t (\(key), name TEXT, a INTEGER, b REAL);
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999999)
      INSERT INTO t SELECT \(keyOfRow), 'name of row ' || i, i * 7919 % 1000003, i * 0.37 FROM n;
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
