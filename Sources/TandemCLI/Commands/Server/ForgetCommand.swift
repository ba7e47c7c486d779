import Tandem

/// `tandem forget`: bounds the history of a space.
enum ForgetCommand: Command {
  /// The options, each declared once.
  enum Option {
    static let olderThan = ValueOption<Duration>(
      "older-than", "AGE", takes: "an age such as 90d, 12h or 30m, of at most 36500 days",
      help: "Forget commits of more than this age, such as 90d,\n12h or 30m."
    ) { ForgetCommand.age($0) }
    static let keep = ValueOption(
      "keep", "N", in: 0...Int.max, help: "Keep the last N commits, whatever their age.")
  }

  static let specification = CommandSpecification(
    name: "forget",
    summary: "Forget the oldest commits of a space.",
    discussion: """
      A space keeps its history: its commits, the records that were deleted, and the versions that
      lost a merge. This command forgets the oldest part. Give --older-than, --keep or both; with both,
      a commit is forgotten only if it is older than AGE and not among the last N. The records stay.

      A copy that has not synchronized since then fetches all records the next time. It loses no
      edit. So choose an age that is longer than the time for which a copy is usually away. The file
      does not shrink; its free space is used again.
      """,
    operands: [],
    options: SpacePlace.Option.all + [Option.olderThan, Option.keep, Flag.quiet],
    examples: [
      "tandem forget --space shared.space --older-than 90d",
      "tandem forget --space notes --data spaces --older-than 30d --keep 1000",
      "tandem forget --space notes --store service=spaces --older-than 90d",
    ])

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    guard arguments.has(Option.olderThan) || arguments.has(Option.keep) else {
      throw arguments.error("say what to forget by --older-than or --keep")
    }
    let (age, keptCount) = (arguments[Option.olderThan], arguments[Option.keep] ?? 0)
    try await SpacePlace.with(arguments) { place in
      let count = try await place.write { try $0.forget(olderThan: age, keeping: keptCount) }
      if !arguments[Flag.quiet] {
        TandemCLI.report("\(place.name): \(Quantity.count(count, "commit")) forgotten")
      }
    }
    return ExitStatus.success
  }

  private static let maxAgeSeconds = 36_500 * 86_400

  static func age(_ text: String) -> Duration? {
    let units: [Character: Int] = ["d": 86_400, "h": 3_600, "m": 60]
    guard let unit = text.last.flatMap({ units[$0] }), let number = Int(text.dropLast()),
      number >= 0
    else { return nil }
    let (seconds, isOverflow) = number.multipliedReportingOverflow(by: unit)
    return isOverflow || seconds > maxAgeSeconds ? nil : .seconds(seconds)
  }
}
