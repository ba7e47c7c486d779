/// A step of a run.
public enum MirrorStep: String, Hashable, Sendable, Codable, CaseIterable {
  /// ``MirrorProcessor/begin()``.
  case begin
  /// Reading the source and the local identities.
  case list
  /// Asking which items need an update, and judging how much is to be removed.
  case compare
  /// ``MirrorProcessor/prepare(_:)``.
  case prepare
  /// ``MirrorProcessor/transfer(_:in:progress:)``.
  case transfer
  /// ``MirrorProcessor/remove(_:)``.
  case remove
  /// ``MirrorProcessor/end(_:)``.
  case end
}

/// What failed in a run, and where.
public struct MirrorFailure<ID: Hashable & Sendable>: Error {
  /// The step that failed, or during which the run was cancelled.
  public var step: MirrorStep
  /// For a transfer, the item.
  public var id: ID?
  /// For a transfer, the stage.
  public var stage: MirrorStage?
  /// How many attempts were made.
  public var attemptCount: Int
  /// For a transfer, how many bytes were received in all attempts.
  public var byteCount: Int
  /// What the step threw last; `CancellationError` for a run that was cancelled.
  public var error: any Error

  /// The failure of a step.
  public init(
    step: MirrorStep, id: ID? = nil, stage: MirrorStage? = nil, attemptCount: Int = 1,
    byteCount: Int = 0, error: any Error
  ) {
    self.step = step
    self.id = id
    self.stage = stage
    self.attemptCount = attemptCount
    self.byteCount = byteCount
    self.error = error
  }

  /// Whether this is no failure of the step, but the cancellation of the run.
  public var isCancellation: Bool { error is CancellationError }
}

extension MirrorFailure: CustomStringConvertible {
  /// A line such as `content of 17: the server is gone (3 attempts)`.
  public var description: String {
    let attempts = attemptCount > 1 ? " (\(attemptCount) attempts)" : ""
    guard let id else { return "\(step.rawValue): \(error)\(attempts)" }
    return "\(stage?.name ?? step.rawValue) of \(id): \(error)\(attempts)"
  }
}

/// What ``OneWayMirror/run()`` throws if its run ended early.
public struct MirrorRunError<ID: Hashable & Sendable>: Error {
  /// What ended the run.
  public var failure: MirrorFailure<ID>
  /// What the run did until then.
  public var report: MirrorReport<ID>

  /// The error of a run that ended early.
  public init(_ failure: MirrorFailure<ID>, report: MirrorReport<ID>) {
    self.failure = failure
    self.report = report
  }
}

extension MirrorRunError: CustomStringConvertible {
  /// The failure's.
  public var description: String { failure.description }
}
