/// The options of a run. A run keeps the value that is set when it starts.
public struct MirrorOptions: Sendable {
  /// The stages in which each item is transferred, in order: the content alone by default. Of two
  /// stages of one name, the first one counts.
  public var stages: [MirrorStageOptions]
  /// The order of stages and items: stage by stage by default.
  public var stageOrder: MirrorStageOrder
  /// The upper bound of concurrent transfers; 0, the default, means ``automaticConcurrency``. The
  /// processor may set a lower bound (``MirrorProcessor/maxTransferCount``).
  public var concurrency: Int
  /// The time at which items that the source does not have are removed: by default last, if no
  /// transfer failed.
  public var removal: MirrorRemoval
  /// The limit for deletions. It is checked before anything is transferred or removed.
  public var mirrorGuard: MirrorGuard
  /// The rule for identities that the source has twice: by default, the run is refused.
  public var duplicates: MirrorDuplicatePolicy
  /// The rule for further attempts at failed transfers.
  public var retry: MirrorRetryPolicy
  /// The timeout of each step other than a transfer; listing and comparing both sides share one.
  /// `nil`, the default, for no timeout.
  public var stepTimeout: Duration?
  /// True for a dry run, which lists, compares, prepares and ends, but transfers and removes
  /// nothing. Its report has the plan as ``MirrorReport/untransferred`` and
  /// ``MirrorReport/unremoved``. False by default.
  public var isDryRun: Bool

  /// The number of concurrent transfers by default.
  public static let automaticConcurrency = 8
  /// The maximum number of concurrent transfers that a run makes.
  public static let maxConcurrency = 1_024

  /// The default options, which are the most careful ones, with the given exceptions.
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

  /// The number of concurrent transfers: ``concurrency`` within its bounds.
  public var maxTransferCount: Int {
    concurrency > 0 ? min(concurrency, Self.maxConcurrency) : Self.automaticConcurrency
  }

  /// The stages, each once.
  public var distinctStages: [MirrorStageOptions] {
    var seen = Set<MirrorStage>()
    return stages.filter { seen.insert($0.stage).inserted }
  }
}

/// The time at which a run removes the items that the source does not have.
public enum MirrorRemoval: String, Hashable, Sendable, Codable, CaseIterable {
  /// After all transfers, and only if none failed. A failed transfer then never makes the mirror
  /// smaller.
  case lastIfNothingFailed
  /// After all transfers, even if some failed without stopping the run.
  case last
  /// Before the first transfer: for destinations with little space, or with unique values.
  case first
}

/// The rule for an item whose identity an earlier item of the source has.
public enum MirrorDuplicatePolicy: String, Hashable, Sendable, Codable, CaseIterable {
  /// The run ends before anything is transferred or removed.
  case refuse
  /// The first item counts. The report names the others.
  case keepFirst
}
