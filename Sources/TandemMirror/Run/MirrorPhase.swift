/// What a mirror is doing.
public enum MirrorPhase: Hashable, Sendable {
  /// No run is under way.
  case idle
  /// A run has started: it reads the local identities and waits for the source's first page.
  case listing
  /// So many items of the source have been read and are being compared; further pages may follow.
  case comparing(sourceCount: Int)
  /// Items are being transferred.
  case transferring(MirrorProgress)
  /// So many items are being removed.
  case removing(count: Int)
  /// All is done but ``MirrorProcessor/end(_:)``.
  case ending
}

/// How far the transfers of a run are.
public struct MirrorProgress: Hashable, Sendable {
  /// The stage; `nil` if items go through all stages in their turn.
  public var stage: MirrorStage?
  /// How many transfers of this stage are done, those that failed included; of all stages, if items
  /// go through them in their turn.
  public var doneCount: Int
  /// How many of those failed.
  public var failedCount: Int
  /// How many there are.
  public var totalCount: Int
  /// How many bytes the run has received, in all stages.
  public var byteCount: Int
  /// How many of these it has received in this stage.
  public var stageByteCount: Int
  /// How long the run has been transferring in this stage.
  public var elapsed: Duration

  /// The progress of a stage: of the first one, unless told how many bytes are of this stage.
  public init(
    stage: MirrorStage?, doneCount: Int = 0, failedCount: Int = 0, totalCount: Int,
    byteCount: Int = 0, stageByteCount: Int? = nil, elapsed: Duration = .zero
  ) {
    self.stage = stage
    self.doneCount = doneCount
    self.failedCount = failedCount
    self.totalCount = totalCount
    self.byteCount = byteCount
    self.stageByteCount = stageByteCount ?? byteCount
    self.elapsed = elapsed
  }

  /// How long the rest of the stage takes if it goes on as so far; `nil` as long as nothing is done.
  public var remaining: Duration? {
    guard doneCount > 0, totalCount >= doneCount else { return nil }
    return elapsed * (Double(totalCount - doneCount) / Double(doneCount))
  }

  /// How many bytes arrived per second so far in this stage; `nil` as long as no time has passed.
  public var bytesPerSecond: Double? {
    elapsed > .zero ? Double(stageByteCount) / (elapsed / .seconds(1)) : nil
  }
}
