import Tandem

/// The rejected changes that an option is for.
enum RejectionChoice: Hashable, Sendable {
  case one(Int64)
  case all

  init?(_ text: String) {
    if text == "all" {
      self = .all
    } else if let id = Int64(text), id > 0 {
      self = .one(id)
    } else {
      return nil
    }
  }
}

/// `tandem rejected`: shows the changes that could not be synchronized.
enum RejectedCommand: Command {
  static let failureStatus = ExitStatus.failure

  /// The options, each declared once.
  enum Option {
    static let retry = ValueOption<RejectionChoice>(
      "retry", "ID|all", takes: "the number of a rejected change, or all",
      help: """
        Make the change in its row again, and forget it.
        Later edits of other fields remain. all: each change
        that the tables accept.
        """,
      offer: .words(["all"])
    ) { RejectionChoice($0) }
    static let discard = ValueOption<RejectionChoice>(
      "discard", "ID|all", takes: "the number of a rejected change, or all",
      help: """
        Forget the change, unless it is of the kind record.
        all: every change that is not.
        """,
      offer: .words(["all"])
    ) { RejectionChoice($0) }
    static let json = Flag(
      "json",
      help: """
        Print an array:
        {"id":N,"table":T,"key":KEY,"kind":"edit|row|record",
        "reason":TEXT,"base":ROW,"content":ROW}
        \(keyShape)
        A ROW is null if there is no such version.
        """)
    static let quiet = Flag("quiet", letter: "q", help: "Report nothing but errors.")
  }

  static let specification = CommandSpecification(
    name: "rejected",
    summary: "Show the changes that could not be synchronized.",
    discussion: """
      Shows the changes that the space refused, that a constraint of this file forbids, or that no
      message can hold, with the reason:
        edit    was taken out of its row, and is kept here: correct the cause, and --retry it, or
                --discard it. --retry writes only the fields that it changed
        row     is still in its row, and cannot be sent: correct the row, and run tandem sync
        record  is a record of the space that a table of this file does not accept: correct the
                table, and --retry it. Until then, the other copies have it

      --retry all and --discard all are one transaction. Changes that the tables still do not accept,
      and those of the kind row, stay when all are retried; those of the kind record when all are
      discarded.

      Exit status: 0 if there are none, 1 if there are, 2 errors.
      """,
    operands: [.init(name: "DATABASE", help: "A SQLite file that is attached.")],
    options: [Option.retry, Option.discard, Option.json, Option.quiet],
    examples: [
      "tandem rejected notes.db", "tandem rejected notes.db --retry 1",
      "tandem rejected notes.db --retry all",
    ],
    usesDatabases: true)

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let path = arguments.operands[0]
    let (retry, discard) = (arguments[Option.retry], arguments[Option.discard])
    guard retry == nil || discard == nil, (retry ?? discard) == nil || !arguments[Option.json]
    else {
      throw arguments.error("choose one of --retry, --discard and --json")
    }
    guard let choice = retry ?? discard else { return try await list(path, arguments) }
    return try await ReplicaFile.with(path) { _, replica in
      let done: String
      switch (choice, isRetried: retry != nil) {
      case (.one(let id), isRetried: true):
        try await replica.retry(rejection: id)
        done = "rejected change \(id) is in its row again"
      case (.one(let id), isRetried: false):
        try await replica.discard(rejection: id)
        done = "rejected change \(id) is discarded"
      case (.all, isRetried: true):
        let count = try await replica.retryRejections()
        done = "\(Quantity.count(count, "rejected change")) made again"
      case (.all, isRetried: false):
        let count = try await replica.discardRejections()
        done = "\(Quantity.count(count, "rejected change")) discarded"
      }
      let rest = try await replica.rejections()
      if !arguments[Option.quiet] {
        let left = rest.first.map { first in
          "; \(rest.count) left, such as \(first.id): \(first.reason)"
        }
        TandemCLI.report(
          "\(path): \(done)\(left ?? "")" + (retry == nil ? "" : ": tandem sync \(path)"))
      }
      return rest.isEmpty ? ExitStatus.success : ExitStatus.attention
    }
  }

  private static func list(_ path: String, _ arguments: ParsedArguments) async throws -> Int32 {
    let rejections = try await ReplicaFile.with(path, access: .readOnly) {
      try await $1.rejections()
    }
    if arguments[Option.json] {
      try OutputStream.printLine { json in
        json.array(of: rejections) { rejection, json in
          json.object { json in
            json.field("id", Int(rejection.id))
            json.field("table", rejection.table)
            json.field("key") { rejection.primaryKey.writeKey(to: &$0) }
            json.field("kind", rejection.kind.rawValue)
            json.field("reason", rejection.reason)
            json.field("base", rejection.base)
            json.field("content", rejection.content)
          }
        }
      }
    } else {
      try OutputStream.printLines(
        rejections.flatMap { rejection in
          [
            "rejected \(rejection.id): \(rejection.kind.rawValue) \(rejection.table) "
              + "\(rejection.primaryKey.keyText): \(rejection.reason)"
          ] + (rejection.base.map { ["  base     \(Optional($0).text)"] } ?? [])
            + (rejection.kind == .row ? [] : ["  content  \(rejection.content.text)"])
        })
      if !arguments[Option.quiet] {
        TandemCLI.report("\(path): \(Quantity.count(rejections.count, "rejected change"))")
      }
    }
    return rejections.isEmpty ? ExitStatus.success : ExitStatus.attention
  }
}
