import Foundation

/// The command-line tool beside SQLite's own, as whole processes.
enum CommandCases {
  static let diff = BenchmarkGroup(name: "command-diff") {
    let folder = try TemporaryFolder()
    let sqlite = try Program.system("sqlite3")
    let sqldiff = try Program.system("sqldiff")
    let tandem = try Program.tandem()
    let create = """
      CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, a INTEGER, b REAL);
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999999)
      INSERT INTO t SELECT i, 'name of row ' || i, i * 7919 % 1000003, i * 0.37 FROM n;
      """
    let change = """
      DELETE FROM t WHERE id % 300 = 0;
      UPDATE t SET name = name || ' changed' WHERE id % 300 = 1;
      INSERT INTO t SELECT id + 2000000, name, a, b FROM t WHERE id % 300 = 2;
      """
    try sqlite.output([folder.path("old.db"), create])
    try sqlite.output([folder.path("new.db"), create + change])
    // A function, so that the contenders hold on to the folder.
    func files() -> [String] { [folder.path("old.db"), folder.path("new.db")] }
    return [
      Benchmark(
        name: "difference of two SQLite files, 1 M rows, 1 % changed",
        ours: .init(name: "tandem diff") {
          // Two lines name the files.
          try tandem.output(["diff"] + files(), statuses: [1]).lineCount - 2
        },
        others: [.init(name: "sqldiff") { try sqldiff.output(files()).lineCount }],
        goals: [Benchmark.goal(atLeast: 1.3, timesFasterThan: "sqldiff")])
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

extension String {
  fileprivate var lineCount: Int { utf8.count { $0 == UInt8(ascii: "\n") } }
}
