/// Why a mirror run refuses to change its destination, or cannot.
public struct MirrorError: Error, Hashable, Sendable {
  /// What kind of error it is. New codes may be added; switch over them with a default.
  public struct Code: Hashable, Sendable {
    /// The code's name, as in `tooManyDeletions`.
    public let name: String

    /// The source has no elements at all, which is more often an accident than the truth.
    public static let emptySource = Code(name: "emptySource")
    /// The run would delete more elements than its limit allows.
    public static let tooManyDeletions = Code(name: "tooManyDeletions")
    /// The source, or an element of it, lacks what the mirror was told to find there.
    public static let unfitSource = Code(name: "unfitSource")
    /// The destination cannot take an element as it is.
    public static let unfitDestination = Code(name: "unfitDestination")

    /// A code of the given name.
    public init(name: String) { self.name = name }
  }

  /// What kind of error it is.
  public var code: Code
  /// What is wrong and what to do about it, with the figures, as a sentence without a final stop.
  public var message: String
  /// For a refusal, how many elements the run would delete, those included that lose some content.
  public var deletionCount: Int?

  /// An error of the given kind.
  public init(_ code: Code, _ message: String, deletionCount: Int? = nil) {
    self.code = code
    self.message = message
    self.deletionCount = deletionCount
  }
}

extension MirrorError: CustomStringConvertible {
  /// The message.
  public var description: String { message }
}
