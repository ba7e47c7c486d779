/// The progress of a run's transfers.
public struct MirrorProgress: Hashable, Sendable {
  /// The stage; `nil` if the run goes item by item through all stages.
  public var stage: MirrorStage?
  /// The number of transfers of this stage that are done or have failed; of all stages, if the run
  /// goes item by item.
  public var doneCount: Int
  /// The number of these that failed.
  public var failedCount: Int
  /// The number of transfers of this stage, or of all stages if the run goes item by item.
  public var totalCount: Int
  /// The number of bytes the run has received, in all stages.
  public var byteCount: Int
  /// The number of these that it received in this stage.
  public var stageByteCount: Int
  /// The time since this stage began.
  public var elapsed: Duration

  /// The progress of a stage. Without `stageByteCount`, all bytes are of this stage.
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

  /// The time that the rest of the stage takes at the speed so far; `nil` as long as nothing is
  /// done.
  public var remaining: Duration? {
    guard doneCount > 0, totalCount >= doneCount else { return nil }
    return elapsed * (Double(totalCount - doneCount) / Double(doneCount))
  }

  /// The bytes received per second in this stage; `nil` as long as no time has passed.
  public var bytesPerSecond: Double? {
    elapsed > .zero ? Double(stageByteCount) / (elapsed / .seconds(1)) : nil
  }
}
