import TandemSync
import TestRandom

/// The circumstances of one simulation, all drawn from its seed.
struct Scenario {
  /// An accident of a party, beside those of messages.
  enum Accident: String, CaseIterable {
    /// The program of a replica ends and starts again.
    case crash
    /// All messages on their way are lost, as when the space's program ends.
    case cut
    /// The space refuses requests as a whole.
    case refusal
    /// The space forgets a part of its history.
    case forget
    /// A replica's file is replaced by a backup.
    case fileRestore
    /// A replica's file is copied, and both are used.
    case fileCopy
    /// The space is replaced by a backup, and nobody says so.
    case spaceRestore
    /// The space is replaced by a backup on purpose, with a new epoch.
    case newEpoch
    /// Another program drops some of Tandem's triggers.
    case triggersDropped
    /// Another program writes while its connection fires no triggers.
    case triggersDisabled
    /// Messages arrive damaged.
    case damage
    /// The space takes shorter records than the files have, so that it refuses single changes.
    case recordLimit
    /// A program adds a column to a table of one file.
    case columnAdded
    /// A program creates a unique index in one file. The rows that are there may break it elsewhere.
    case indexCreated
    /// The operator gives the space a quota, another one, or none.
    case quota
    /// A migration of one file drops a column, or creates one again that it has dropped.
    case columnDropped
    /// A program builds a table of one file anew, and edits it meanwhile.
    case tableRebuilt

    /// True if files get other schemas than they began with.
    var changesSchema: Bool {
      switch self {
      case .columnAdded, .indexCreated, .columnDropped, .tableRebuilt: true
      default: false
      }
    }
  }

  let seed: UInt64
  let variant: Int
  let fileCount: Int
  /// The number of programs that synchronize the first file.
  let firstFileDriverCount: Int
  let stepCount: Int
  /// The shares of messages that are lost and duplicated, in percent.
  let lossPercent: Int
  let duplicatePercent: Int
  let accidents: [Accident]
  /// The number of keys that edits choose from in each table. With few, edits meet each other.
  let keyCount: Int
  /// The share of a program's turns in which it synchronizes undisturbed, in percent. Otherwise
  /// files seldom have a common past.
  let calmPercent: Int
  /// True if the programs enforce foreign keys. Most programs beside Tandem do not.
  let enforcesForeignKeys: Bool
  /// The number of changes of a page that a replica asks for.
  let maxPageChangeCount: Int
  /// The limits of the files: small ones, so that they are reached.
  let limits: SyncLimits
  /// The limits of the space.
  let spaceLimits: SyncLimits
  /// True if pages are applied without triggers, as only long ones are otherwise.
  let appliesWithoutTriggers: Bool
  /// True if programs reach the space through the service of a server.
  let usesService: Bool
  /// True if the service has rules of an application (``SimulatedRules``).
  let usesRules: Bool

  init(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    // The first numbers of close seeds are unlike each other only after mixing twice.
    random = SplitMix64(seed: random.next())
    self.seed = seed
    var variant = Int.random(in: 0..<SimulatedSchema.firstNumbered, using: &random)
    fileCount = [2, 2, 3, 3, 4, 5][Int.random(in: 0..<6, using: &random)]
    firstFileDriverCount = Int.random(in: 0..<4, using: &random) == 0 ? 2 : 1
    stepCount = Int.random(in: 30...120, using: &random)
    lossPercent = Bool.random(using: &random) ? Int.random(in: 0...30, using: &random) : 0
    duplicatePercent = Bool.random(using: &random) ? Int.random(in: 0...50, using: &random) : 0
    var accidents = Accident.allCases.filter { accident in
      switch accident {
      case .crash, .cut: Bool.random(using: &random)
      case .refusal, .forget, .fileRestore, .fileCopy: Int.random(in: 0..<4, using: &random) == 0
      case .spaceRestore, .newEpoch, .triggersDropped, .triggersDisabled, .damage, .recordLimit,
        .columnAdded:
        Int.random(in: 0..<8, using: &random) == 0
      case .indexCreated, .quota, .columnDropped, .tableRebuilt: false  // drawn last
      }
    }
    keyCount = Int.random(in: 1...4, using: &random)
    calmPercent = Int.random(in: 0...30, using: &random)
    maxPageChangeCount = Int.random(in: 1...12, using: &random)
    // A commit has room for at least some records: no record may be too long for each commit.
    let maxCommitByteCount = 4_096 + Int.random(in: 1_000...4_000, using: &random)
    let maxCommitChangeCount = Int.random(in: 2...12, using: &random)
    var limits = SyncLimits(
      maxCommitByteCount: maxCommitByteCount,
      maxCommitChangeCount: maxCommitChangeCount,
      maxPageByteCount: Int.random(in: 100...4_000, using: &random))
    let maxRecordByteCount = Int.random(in: 30...60, using: &random)
    enforcesForeignKeys = Bool.random(using: &random)
    appliesWithoutTriggers = Int.random(in: 0..<16, using: &random) == 0
    usesService = Int.random(in: 0..<4, using: &random) == 0
    limits.maxPartsByteCount = Int.random(in: 1...4, using: &random) * maxCommitByteCount
    limits.maxPartsChangeCount = Int.random(in: 1...4, using: &random) * maxCommitChangeCount
    self.limits = limits
    if accidents.contains(.recordLimit) { limits.maxRecordByteCount = maxRecordByteCount }
    spaceLimits = limits
    // Drawn last, so that a seed has the scenario that it had before there were these schemas.
    if Int.random(in: 0..<6, using: &random) == 0 {
      variant = Int.random(
        in: SimulatedSchema.firstNumbered..<SimulatedSchema.count, using: &random)
    }
    self.variant = variant
    for accident in [Accident.indexCreated, .quota]
    where Int.random(in: 0..<8, using: &random) == 0 { accidents.append(accident) }
    // An amendment by rules cannot state the values of an index.
    usesRules =
      Int.random(in: 0..<2, using: &random) == 0 && usesService
      && !accidents.contains(.indexCreated)
    for accident in [Accident.columnDropped, .tableRebuilt]
    where Int.random(in: 0..<6, using: &random) == 0 { accidents.append(accident) }
    self.accidents = accidents
  }

  /// The random numbers of one step. They do not depend on other steps, so that steps can be left
  /// out.
  func random(ofStep step: Int) -> SplitMix64 {
    var random = SplitMix64(seed: seed)
    return SplitMix64(
      seed: random.next() &+ UInt64(truncatingIfNeeded: step) &* 0xD134_2543_DE82_EF95)
  }
}
