/// The reason why a mirror run did not change its destination.
public struct MirrorError: Error, Hashable, Sendable {
  /// The kind of an error. New codes may be added: switch over them with a default.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code, as in `tooManyDeletions`.
    public let name: String
    /// The name.
    public var description: String { name }

    /// The source has no elements, and mirroring it would empty the destination.
    public static let emptySource = Code(name: "emptySource")
    /// The run would delete more elements than its limit allows.
    public static let tooManyDeletions = Code(name: "tooManyDeletions")
    /// The source, or an element of it, lacks a field that the mirror needs.
    public static let unfitSource = Code(name: "unfitSource")
    /// The destination cannot store an element as it is.
    public static let unfitDestination = Code(name: "unfitDestination")
    /// An identity occurs twice, in the source or in the items that ``MirrorProcessor/prepare``
    /// returned.
    public static let duplicateElement = Code(name: "duplicateElement")
    /// A list that must ascend by identity does not.
    public static let unsortedList = Code(name: "unsortedList")
    /// A step of a run called ``OneWayMirror/run()`` of the same mirror, which would wait for itself.
    public static let nestedRun = Code(name: "nestedRun")
    /// A step took longer than its timeout.
    public static let timedOut = Code(name: "timedOut")

    /// A code of the given name.
    public init(name: String) { self.name = name }
  }

  /// The kind of the error.
  public var code: Code
  /// The cause and the remedy, with the figures, as a sentence without a final stop.
  public var message: String
  /// For a refusal, the number of elements that the run would delete, including those that would
  /// lose some content.
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

extension MirrorError: MirrorRetryError {
  /// True for a timeout.
  public var isTransient: Bool { code == .timedOut }
}
