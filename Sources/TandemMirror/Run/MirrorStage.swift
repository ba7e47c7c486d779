/// A part of an item that is transferred by itself: its preview, its content, or a part that the
/// application names.
public struct MirrorStage: Hashable, Sendable {
  /// The stage's name, unique among the stages of a run.
  public let name: String

  /// A small stand-in for the content, such as a thumbnail.
  public static let preview = MirrorStage(name: "preview")
  /// The item itself.
  public static let content = MirrorStage(name: "content")

  /// A stage of the application's own.
  public init(name: String) { self.name = name }
}

extension MirrorStage: CustomStringConvertible {
  /// The name.
  public var description: String { name }
}

/// A stage and the options of its transfers.
public struct MirrorStageOptions: Hashable, Sendable {
  /// The stage.
  public var stage: MirrorStage
  /// The consequence of a failed transfer for the run.
  public var errorPolicy: MirrorErrorPolicy
  /// The timeout of one attempt; `nil` for none.
  public var timeout: Duration?

  /// A stage whose failures stop the run, and without a timeout, unless given otherwise.
  public init(
    _ stage: MirrorStage, errorPolicy: MirrorErrorPolicy = .stop, timeout: Duration? = nil
  ) {
    self.stage = stage
    self.errorPolicy = errorPolicy
    self.timeout = timeout
  }
}

/// The consequence of a transfer that failed in its last attempt.
public enum MirrorErrorPolicy: String, Hashable, Sendable, Codable, CaseIterable {
  /// The run ends: it cancels the current transfers and removes nothing more.
  case stop
  /// The item's further stages are skipped; the run continues with all other items.
  case skipItem
  /// The run continues, including the item's further stages.
  case `continue`
}

/// The order of stages and items.
public enum MirrorStageOrder: String, Hashable, Sendable, Codable, CaseIterable {
  /// A stage is done for all items before the next one begins: first all previews, then all
  /// contents.
  case stageByStage
  /// Each item goes through all its stages before a new item is started.
  case itemByItem
}
