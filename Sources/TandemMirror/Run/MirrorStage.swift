/// What of an item is transferred: first its preview, then its content, or whatever the application
/// calls the parts of its own.
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
