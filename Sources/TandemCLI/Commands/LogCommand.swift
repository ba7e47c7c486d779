import Tandem
import TandemServer

/// `tandem log`: shows the commits of a space.
enum LogCommand: Command {
  /// The options, each declared once.
  enum Option {
    static let space = ValueOption<String>(
      "space", "SPACE",
      help: "The file of a space or, with --data, the name of a space.\nRequired.", offer: .files)
    static let data = ValueOption<String>(
      "data", "DIR", help: "The directory in which a server keeps its spaces.")
    static let count = ValueOption(
      "count", in: 1...Int.max,
      help: "The maximum number of commits (default: \(defaultCount)).")
    static let json = Flag(
      "json",
      help: """
        Print one JSON object per line:
        {"version":N,"time":TIME,"account":NAME,
        "replica":ID,"commit":ID,"overruled":[
        {"table":T,"id":[VALUE],"version":N,"fields":ROW}]}
        The id has the values of the key columns. Fields are
        null if the version is a deletion.
        """)
  }

  private static let defaultCount = 100

  static let specification = CommandSpecification(
    name: "log",
    summary: "Show the commits of a space, and the versions that lost.",
    discussion: """
      Shows the last commits of a space, the newest first: the version, the time, the account and
      the replica that made it. Below a commit are the versions of records that lost a merge on that
      replica, or wait for a decision there. So they can be read without the device that made them.
      A server may be using the space.

      Exit status: 0 success, 1 failure, 2 wrong usage.
      """,
    operands: [],
    options: [Option.space, Option.data, Option.count, Option.json],
    examples: [
      "tandem log --space shared.space", "tandem log --space notes --data spaces --json",
    ])

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let path = try file(arguments)
    guard access(path, F_OK) == 0 || errno != ENOENT else {
      throw FileError(
        path: path, action: "read",
        reason: "there is no such file; for a space of a server, name the server's directory by "
          + "--data DIR")
    }
    let commits = try await SQLiteSpaceStore.history(
      path: path, maxCount: arguments[Option.count] ?? defaultCount)
    for commit in commits {
      if arguments[Option.json] {
        try OutputStream.printLine { commit.write(to: &$0) }
      } else {
        try OutputStream.printLines(commit.lines)
      }
    }
    return 0
  }

  /// The file of the space that the arguments name.
  static func file(_ arguments: ParsedArguments) throws -> String {
    let name = try arguments.required(Option.space, "the file of a space, or its name and --data")
    guard let directory = arguments[Option.data] else { return name }
    let spaces = try SpaceDirectory(reading: directory)
    guard spaces.contains(name) else {
      let names = try spaces.names()
      let hint = Spelling.closest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
      throw FileError(path: directory, action: "read", reason: "there is no space \(name)\(hint)")
    }
    return spaces.file(of: name)
  }
}

extension SpaceCommit {
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("version", version)
      json.field("time", timeText)
      json.field("account", account)
      json.field("replica", "\(replica)")
      json.field("commit", "\(id)")
      json.field("overruled", overruled)
    }
  }

  fileprivate var lines: [String] {
    ["\(version) \(timeText) \(account ?? "-") \(replica)"]
      + overruled.map { state in
        "  overruled: \(state.key.table) \(state.key.id.keyText), edited version "
          + "\(state.version): \(state.fields.text)"
      }
  }

  /// The time by RFC 3339, in UTC.
  private var timeText: String {
    var seconds = time_t(time / 1_000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    func digits(_ number: Int32, _ count: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    let date =
      "\(digits(parts.tm_year + 1900, 4))-\(digits(parts.tm_mon + 1, 2))-\(digits(parts.tm_mday, 2))"
    return "\(date)T\(digits(parts.tm_hour, 2)):\(digits(parts.tm_min, 2)):"
      + "\(digits(parts.tm_sec, 2)).\(digits(Int32(time % 1_000), 3))Z"
  }
}
