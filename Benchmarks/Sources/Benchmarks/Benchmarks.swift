import Foundation

@main
struct Benchmarks {
  static let usage = """
    usage: Benchmarks [--filter TEXT] [--runs N] [--json | --markdown] [--list]
           Benchmarks --growth [--seed N] [--runs N]

    Measures Tandem beside a floor or a peer in the same run, and prints medians and ratios.

      --filter TEXT   only groups whose name contains TEXT
      --runs N        measured runs per contender, 7 or more (default 7)
      --json          one JSON object per case and line
      --markdown      a table, as in Documentation/Figures.md
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
      TextCases.sessions,
      DatabaseCases.insertion, DatabaseCases.reading,
      LiveQueryCases.oneRow, LiveQueryCases.manyRows, LiveQueryCases.rerun,
      LiveQueryCases.manyQueries,
      SyncCases.triggers, SyncCases.edit, SyncCases.merge, SyncCases.writers,
      ServerCases.commits, ServerCases.latency, ServerCases.streams, ServerCases.bytes,
      MirrorCases.files, MirrorCases.comparison, MirrorCases.unchanged,
      ChannelCases.one, ChannelCases.million,
      CommandCases.diff, CommandCases.mirror, WatchCases.tracked,
    ]
  }

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
    if format == .markdown { print(BenchmarkResult.heading) }
    for group in groups where filter.isEmpty || group.name.contains(filter) {
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
      }
    }
  }
}
