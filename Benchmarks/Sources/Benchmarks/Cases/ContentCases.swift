import Foundation

/// `tandem mirror --content` as users run it, beside curl, which keeps no table and checks nothing.
enum ContentCases {
  static let command = BenchmarkGroup(name: "mirror-contents") {
    let site = try ListedSite(fileCount: 10_000)
    let fetchedCount = 2_000
    let list = try site.makeList("some", count: fetchedCount)
    let all = try site.makeList("all", count: 10_000)
    guard try site.mirror(all, into: "same") == 10_000 else {
      throw Program.Failure(description: "not all contents were mirrored")
    }
    func benchmark(
      _ name: String, atMost factor: Double, _ stopwatch: Stopwatch
    ) -> Benchmark {
      // What is there after a crash: each file that is in the table, or those of a run that ended.
      let each = Benchmark.Contender(
        name: "curl --parallel, then sync of each file",
        run: { try site.curl(list, "sync '%' '%'/*") },
        prepare: { try site.prepare("files") }, stopwatch: stopwatch)
      let atOnce = Benchmark.Contender(
        name: "curl --parallel, then sync --file-system",
        run: { try site.curl(list, "sync --file-system '%'") },
        prepare: { try site.prepare("files") }, stopwatch: stopwatch)
      let tandem = Benchmark.Contender(
        name: "tandem mirror --content", run: { try site.mirror(list, into: "new") },
        prepare: { try site.prepare("new") }, stopwatch: stopwatch)
      return Benchmark(
        name: "\(fetchedCount) contents of 4 KiB, 8 at a time, on disk, \(name)", ours: tandem,
        others: [each, atOnce], goals: [Benchmark.goal(atMost: factor, times: each.name)])
    }
    return [
      benchmark("time", atMost: 1, .wall),
      benchmark("processor time", atMost: 2.5, .processorTimeOfPrograms),
      Benchmark(
        name: "10,000 contents again, nothing changed, the list read anew",
        ours: .init(name: "tandem mirror --content --header") {
          // A list that is asked for in another way is read anew.
          let field = "X-Run: \(UInt64.random(in: 0...UInt64.max))"
          guard try site.mirror(all, into: "same", options: ["--header", field]) == 10_000 else {
            throw Program.Failure(description: "contents were lost")
          }
          return nil
        },
        others: [.init(name: "curl, the list alone") { try site.curlOfList(all) }],
        goals: [Benchmark.goal(withinMilliseconds: 150)]),
    ]
  }
}

/// Files behind nginx, lists of them, and the programs that fetch them.
private final class ListedSite {
  private let folder: TemporaryFolder
  private let server: WebServer
  private let tandem: Program
  private let program: Program
  private let shell: Program

  init(fileCount: Int) throws {
    folder = try TemporaryFolder()
    tandem = try Program.tandem()
    program = try Program.system("curl")
    shell = try Program.system("sh")
    let site = folder.path("site")
    try FileManager.default.createDirectory(atPath: site, withIntermediateDirectories: true)
    var generator = SplitMix64(seed: 9)
    for id in 0..<fileCount {
      let words = (0..<512).map { _ in generator.next() }
      try words.withUnsafeBytes { Data($0) }.write(to: URL(filePath: "\(site)/\(id)"))
    }
    server = try WebServer("site", in: folder)
  }

  /// Makes a list of the first files, for both programs, and returns its name.
  func makeList(_ name: String, count: Int) throws -> String {
    let records = (0..<count).map { #"{"id":\#($0),"url":"\#($0)"}"# }.joined(separator: ",")
    try "[\(records)]"
      .write(toFile: folder.path("site/\(name).json"), atomically: true, encoding: .utf8)
    let lines = (0..<count).map {
      "url = \"\(server.url)/\($0)\"\noutput = \"\(folder.path("files/\($0)"))\"\n"
    }
    try lines.joined()
      .write(toFile: folder.path("\(name).cfg"), atomically: true, encoding: .utf8)
    return name
  }

  /// Makes place for the next run.
  func prepare(_ name: String) throws {
    folder.removeDatabase("\(name).db")
    try folder.makeEmptyFolder(name)
  }

  /// Returns the number of files that are there then.
  ///
  /// - Parameter command: Makes the files durable; a percent sign stands for their folder.
  func curl(_ list: String, _ command: String) throws -> Int? {
    let fetch = "'\(program.path)' --no-progress-meter --parallel --parallel-max 8 --config"
    let files = folder.path("files")
    try shell.output([
      "-c",
      "\(fetch) '\(folder.path("\(list).cfg"))' && "
        + command.replacingOccurrences(of: "%", with: files),
    ])
    return try FileManager.default.contentsOfDirectory(atPath: files).count
  }

  func curlOfList(_ list: String) throws -> Int? {
    try program.output(["--silent", "--output", "/dev/null", "\(server.url)/\(list).json"])
    return nil
  }

  /// Returns the number of files that are there then.
  func mirror(_ list: String, into name: String, options: [String] = []) throws -> Int? {
    try tandem.output(
      [
        "mirror", "\(server.url)/\(list).json", folder.path("\(name).db"), "--table", "t", "--key",
        "id", "--content", "url", "--into", folder.path(name), "--quiet",
      ] + options)
    return try FileManager.default.contentsOfDirectory(atPath: folder.path("\(name)/content"))
      .count
  }
}
