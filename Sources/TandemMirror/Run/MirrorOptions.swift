/// How a run goes about its work. A run takes the value that is set when it starts, and keeps it.
public struct MirrorOptions: Sendable {
  /// The stages each item is transferred in, in order: the content alone by default. Of two stages of
  /// one name, the first one counts.
  public var stages: [MirrorStageOptions]
  /// Whether a stage is done for all items before the next one begins, or item by item.
  public var stageOrder: MirrorStageOrder
  /// How many transfers run at a time; 0, the default, means ``automaticConcurrency``. They are fewer if
  /// the processor cannot do as many (``MirrorProcessor/maxTransferCount``).
  public var concurrency: Int
  /// When items are removed that the source does not have: by default last, if nothing failed.
  public var removal: MirrorRemoval
  /// How much a run may remove. It is asked before anything is transferred or removed.
  public var mirrorGuard: MirrorGuard
  /// What is done about items that the source has twice: by default, the run is refused.
  public var duplicates: MirrorDuplicatePolicy
  /// Which failed transfers are attempted again, and when.
  public var retry: MirrorRetryPolicy
  /// How long each step other than a transfer may take, reading and comparing both lists being one;
  /// `nil`, the default, for as long as it takes.
  public var stepTimeout: Duration?
  /// Whether runs only find out what they would do: they list, compare, prepare and end, and the report
  /// has all of it as ``MirrorReport/untransferred`` and ``MirrorReport/unremoved``. `false` by default.
  public var isDryRun: Bool

  /// How many transfers run at a time unless told otherwise.
  public static let automaticConcurrency = 8
  /// The most transfers that run at a time, whatever is asked for.
  public static let maxConcurrency = 1_024

  /// Options with the given exceptions from the careful ones.
  public init(
    stages: [MirrorStageOptions] = [MirrorStageOptions(.content)],
    stageOrder: MirrorStageOrder = .stageByStage, concurrency: Int = 0,
    removal: MirrorRemoval = .lastIfNothingFailed, mirrorGuard: MirrorGuard = MirrorGuard(),
    duplicates: MirrorDuplicatePolicy = .refuse, retry: MirrorRetryPolicy = MirrorRetryPolicy(),
    stepTimeout: Duration? = nil, isDryRun: Bool = false
  ) {
    self.stages = stages
    self.stageOrder = stageOrder
    self.concurrency = concurrency
    self.removal = removal
    self.mirrorGuard = mirrorGuard
    self.duplicates = duplicates
    self.retry = retry
    self.stepTimeout = stepTimeout
    self.isDryRun = isDryRun
  }

  /// How many transfers run at a time: ``concurrency`` within its bounds.
  public var maxTransferCount: Int {
    concurrency > 0 ? min(concurrency, Self.maxConcurrency) : Self.automaticConcurrency
  }

  /// The stages, each once.
  public var distinctStages: [MirrorStageOptions] {
    var seen = Set<MirrorStage>()
    return stages.filter { seen.insert($0.stage).inserted }
  }
}

/// A stage, and what goes for its transfers.
public struct MirrorStageOptions: Hashable, Sendable {
  /// The stage.
  public var stage: MirrorStage
  /// What a failed transfer means for the run.
  public var errorPolicy: MirrorErrorPolicy
  /// How long one attempt may take; `nil` for as long as it takes.
  public var timeout: Duration?

  /// A stage with the given exceptions: by default, an error stops the run, and nothing is timed.
  public init(
    _ stage: MirrorStage, errorPolicy: MirrorErrorPolicy = .stop, timeout: Duration? = nil
  ) {
    self.stage = stage
    self.errorPolicy = errorPolicy
    self.timeout = timeout
  }
}

/// What a transfer that failed for good means for the run.
public enum MirrorErrorPolicy: String, Hashable, Sendable, Codable, CaseIterable {
  /// The run ends: transfers under way are cancelled, and nothing is removed any more.
  case stop
  /// The item's further stages are left out; all other items go on.
  case skipItem
  /// All goes on, the item's further stages included.
  case `continue`
}

/// In which order the stages of many items are done.
public enum MirrorStageOrder: String, Hashable, Sendable, Codable, CaseIterable {
  /// A stage is done for all items before the next one begins: all previews, then all contents.
  case stageByStage
  /// Each item goes through all its stages, in its turn.
  case itemByItem
}

/// When a run removes what the source does not have.
public enum MirrorRemoval: String, Hashable, Sendable, Codable, CaseIterable {
  /// After all transfers, and only if none failed: so a failed transfer never leaves the mirror
  /// smaller.
  case lastIfNothingFailed
  /// After all transfers, even if some failed that did not stop the run.
  case last
  /// Before the first transfer, where space is short or values must be unique.
  case first
}

/// What is done about an item whose identity an earlier one of the source has.
public enum MirrorDuplicatePolicy: String, Hashable, Sendable, Codable, CaseIterable {
  /// The run ends before anything is transferred or removed.
  case refuse
  /// The first item counts; the report names the others.
  case keepFirst
}
