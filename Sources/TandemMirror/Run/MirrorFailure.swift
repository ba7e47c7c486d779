/// A step of a run.
public enum MirrorStep: String, Hashable, Sendable, Codable, CaseIterable {
  /// ``MirrorProcessor/begin``.
  case begin
  /// ``MirrorProcessor/local``: listing the identities that the destination has.
  case localIDs
  /// ``MirrorProcessor/list``: listing the source. Also the step of errors that concern both
  /// lists.
  case list
  /// Finding the items that need an update, and checking how much the run would delete.
  case compare
  /// ``MirrorProcessor/prepare``.
  case prepare
  /// ``MirrorProcessor/transfer``.
  case transfer
  /// ``MirrorProcessor/remove``.
  case remove
  /// ``MirrorProcessor/end``.
  case end
}

/// A failure in a run, with the step and the item it concerns.
public struct MirrorFailure<ID: Hashable & Sendable>: Error {
  /// The step that failed, or during which the run was cancelled.
  public var step: MirrorStep
  /// The item, for a transfer and for ``MirrorProcessor/needsUpdate``.
  public var id: ID?
  /// For a transfer, the stage.
  public var stage: MirrorStage?
  /// The number of attempts.
  public var attemptCount: Int
  /// For a transfer, the number of bytes received in all attempts.
  public var byteCount: Int
  /// The error of the last attempt; `CancellationError` for a run that was cancelled.
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

  /// True if the run was cancelled during the step.
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

/// The error of ``OneWayMirror/run()`` for a run that ended early.
public struct MirrorRunError<ID: Hashable & Sendable>: Error {
  /// The failure that ended the run.
  public var failure: MirrorFailure<ID>
  /// The report of the run until then.
  public var report: MirrorReport<ID>

  /// The error of a run that ended early.
  public init(_ failure: MirrorFailure<ID>, report: MirrorReport<ID>) {
    self.failure = failure
    self.report = report
  }
}

extension MirrorRunError: CustomStringConvertible {
  /// The failure's description.
  public var description: String { failure.description }
}
