import Foundation

@main
struct Benchmarks {
  static let usage = """
    usage: Benchmarks [--filter TEXT] [--runs N] [--json | --markdown] [--list]
           Benchmarks --growth [--seed N] [--runs N]

    Measures Tandem beside a floor or a peer in the same run, and prints medians, the most memory that each occupied,
    and ratios; at the end README's table and the number of goals that were kept.

      --filter TEXT   only groups whose name contains TEXT
      --runs N        measured runs per contender, 7 or more (default 7)
      --json          one JSON object per case and line
      --markdown      the table of Documentation/Figures.md, then README's
      --list          the names of the groups
      --growth        a table of the times for 100 to 1,000,000 records, and their growth
      --seed N        the seed of the records of --growth (default 1)
    """

  static var groups: [BenchmarkGroup] {
    [
      SetDifferenceCases.integers, SetDifferenceCases.strings,
      ListCases.identities, ListCases.items, ListCases.orders,
      ListCases.growth,
      MergeCases.integers, MergeCases.strings,
      TextCases.sessions, TextCases.lines,
      DatabaseCases.insertion, DatabaseCases.reading,
      LiveQueryCases.oneRow, LiveQueryCases.manyRows, LiveQueryCases.everyRow, LiveQueryCases.rerun,
      LiveQueryCases.manyQueries, LiveQueryCases.equalQueries,
      SyncCases.triggers, SyncCases.edit, SyncCases.unique, SyncCases.merge, SyncCases.event,
      SyncCases.writers,
      ServerCases.commits, ServerCases.latency, ServerCases.streams, ServerCases.bytes,
      PostgreSQLCases.commits, PostgreSQLCases.hints, PostgreSQLCases.nodes,
      PostgreSQLCases.million,
      MirrorCases.files, MirrorCases.comparison, MirrorCases.unchanged, ContentCases.command,
      JSONCases.reading,
      ChannelCases.one, ChannelCases.million,
      CommandCases.diff, CommandCases.lists, CommandCases.mirror, CommandCases.start,
      WatchCases.otherProcess,
    ]
  }

  /// README's rows: how the name of a case begins, and the words for it in README.
  static let rowsOfReadme = [
    ("1 M integer keys, sorted", "set difference, 1 M sorted integer keys, 1 % changed"),
    ("1 M integer keys, shuffled", "… integer keys, shuffled"),
    (
      "list of 100000 UUID: 10000 deleted",
      "list difference, 100,000 UUIDs, 10 % deleted and inserted, 2 % moved"
    ),
    (
      "1 M records with a string, sorted",
      "three-way merge, 1 M sorted records with a string, 1 % changed on each side"
    ),
    (
      "difference of two SQLite files, 1 M rows, 1 % changed",
      "`tandem diff`, two SQLite files of 1 M rows, 1 % changed"
    ),
    (
      "100,000 records of a JSON file into a new table",
      "`tandem mirror`, 100,000 records of JSON into a new table"
    ),
    (
      "10,000 items of 4 KiB from nginx, 8 at a time",
      "10,000 contents of 4 KiB from nginx into files, 8 at a time"
    ),
    ("200,000 typed records inserted in one transaction", "200,000 typed records inserted"),
    (
      "one row of 1 M updated and its difference delivered",
      "one row of 1 M updated, its difference delivered"
    ),
    (
      "another process updates a row of 1 M, tandem watch prints it",
      "another process commits, `tandem watch` prints; 1 M rows, tracked"
    ),
    (
      "one edit of 1 M rows in step",
      "one edit of 1 M rows in step, frozen, sent and settled"
    ),
    ("commits of one row by 64 clients of a server", "commits to `tandem serve`, 64 clients"),
    (
      "commits of one row by 64 clients of a server, on a disk",
      "… on a disk that takes 2 ms longer to flush"
    ),
    ("a commit reaches", "… one commit reaches 2,000 event streams"),
    ("a number to one bound object", "one value sent to one bound object, 0 allocations"),
  ]

  static func main() {
    do {
      try run(Array(CommandLine.arguments.dropFirst()))
    } catch {
      FileHandle.standardError.write(Data("Benchmarks: \(error)\n".utf8))
      exit(2)
    }
  }

  enum Format {
    case text, json, markdown
  }

  struct UsageError: Error, CustomStringConvertible {
    var description: String
  }

  static func run(_ arguments: [String]) throws {
    if arguments.first == Program.peakOption {
      return try Program.printPeakByteCount(Array(arguments.dropFirst()))
    }
    var filter = ""
    var runs = 7
    var format = Format.text
    var printsGrowth = false
    var seed: UInt64 = 1
    var arguments = arguments[...]
    while let argument = arguments.popFirst() {
      switch argument {
      case "--filter": filter = arguments.popFirst() ?? ""
      case "--runs": runs = max(7, arguments.popFirst().flatMap { Int($0) } ?? 7)
      case "--json": format = .json
      case "--markdown": format = .markdown
      case "--growth": printsGrowth = true
      case "--seed": seed = arguments.popFirst().flatMap { UInt64($0) } ?? 1
      case "--list": return groups.forEach { print($0.name) }
      case "--help": return print(usage)
      default: throw UsageError(description: "unknown option \(argument)\n\(usage)")
      }
    }
    if printsGrowth { return try GrowthTable(seed: seed, runs: runs).print() }
    let runner = BenchmarkRunner(runs: runs)
    var results: [BenchmarkResult] = []
    if format == .markdown { print(BenchmarkResult.heading) }
    var failedGroups: [String] = []
    for group in groups where filter.isEmpty || group.name.contains(filter) {
      do {
        for benchmark in try group.prepare() {
          let result = try runner.run(benchmark)
          switch format {
          case .text: print(result.text)
          case .json:
            let data = try JSONSerialization.data(
              withJSONObject: result.json, options: [.sortedKeys])
            print(String(decoding: data, as: UTF8.self))
          case .markdown: print(result.row)
          }
          fflush(nil)
          results.append(result)
        }
      } catch {
        // The other groups take most of an hour.
        FileHandle.standardError.write(Data("Benchmarks: \(group.name): \(error)\n".utf8))
        failedGroups.append(group.name)
      }
    }
    if !failedGroups.isEmpty {
      throw UsageError(description: "failed: \(failedGroups.joined(separator: ", "))")
    }
    guard format != .json else { return }
    if filter.isEmpty { try printReadme(results) }
    let verdicts = results.flatMap { result in
      result.benchmark.goals.compactMap(result.verdict)
    }
    print("\n\(verdicts.count { $0.isKept }) of \(verdicts.count) goals kept")
    // Before the programs of the cases end.
    fflush(nil)
  }

  /// Prints README's table, of the results of all cases.
  private static func printReadme(_ results: [BenchmarkResult]) throws {
    print("\n\(BenchmarkResult.headingOfReadme)")
    for (name, words) in rowsOfReadme {
      guard let result = results.first(where: { $0.benchmark.name.hasPrefix(name) }) else {
        throw UsageError(description: "README shows a case that does not exist: \(name)")
      }
      print(result.rowOfReadme(words))
    }
  }
}
