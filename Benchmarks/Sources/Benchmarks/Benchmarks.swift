import Foundation

@main
struct Benchmarks {
  static let usage = """
    usage: Benchmarks [--filter TEXT] [--runs N] [--json] [--list]

    Measures Tandem beside a floor or a peer in the same run, and prints medians and ratios.

      --filter TEXT   only groups whose name contains TEXT
      --runs N        measured runs per contender, 7 or more (default 7)
      --json          one JSON object per case and line
      --list          the names of the groups
    """

  static var groups: [BenchmarkGroup] {
    [
      SetDifferenceCases.integers, SetDifferenceCases.strings,
      ListCases.identities, ListCases.items, ListCases.growth,
      MergeCases.integers, MergeCases.strings,
      TextCases.sessions,
      DatabaseCases.insertion, DatabaseCases.reading,
      LiveQueryCases.oneRow, LiveQueryCases.manyRows, LiveQueryCases.manyQueries,
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

  struct UsageError: Error, CustomStringConvertible {
    var description: String
  }

  static func run(_ arguments: [String]) throws {
    var filter = ""
    var runs = 7
    var json = false
    var arguments = arguments[...]
    while let argument = arguments.popFirst() {
      switch argument {
      case "--filter": filter = arguments.popFirst() ?? ""
      case "--runs": runs = max(7, arguments.popFirst().flatMap { Int($0) } ?? 7)
      case "--json": json = true
      case "--list": return groups.forEach { print($0.name) }
      case "--help": return print(usage)
      default: throw UsageError(description: "unknown option \(argument)\n\(usage)")
      }
    }
    let runner = BenchmarkRunner(runs: runs)
    for group in groups where filter.isEmpty || group.name.contains(filter) {
      for benchmark in try group.prepare() {
        let result = try runner.run(benchmark)
        if json {
          let data = try JSONSerialization.data(
            withJSONObject: result.json, options: [.sortedKeys])
          print(String(decoding: data, as: UTF8.self))
        } else {
          print(result.text)
        }
        fflush(nil)
      }
    }
  }
}
