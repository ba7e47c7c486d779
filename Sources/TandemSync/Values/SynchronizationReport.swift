public import TandemDifferences

/// The result of a synchronization.
public struct SynchronizationReport<Element, ID: Equatable> {
  /// The revision that client and remote have in common now; `nil` if neither had anything to create.
  public var revision: RemoteRevision?
  /// The difference from the client's contents before the call to those after it.
  public var toClient: SetDifference<Element>
  /// Every conflict and its resolution, including those that earlier calls resolved before they
  /// failed. The unresolved ones are also in ``RemoteShadow/openConflicts``.
  public var conflicts: [ConflictReport<Element, ID>]
  /// The number of rounds: 1, and one more for each rejected push.
  public var roundCount: Int
  /// The policy's decision about a new epoch; `nil` if the epoch did not change.
  public var epochDecision: EpochPolicy.Decision?

  /// Creates a report from its parts.
  @inlinable
  package init(
    revision: RemoteRevision? = nil, toClient: SetDifference<Element> = SetDifference(),
    conflicts: [ConflictReport<Element, ID>] = [], roundCount: Int = 0,
    epochDecision: EpochPolicy.Decision? = nil
  ) {
    self.revision = revision
    self.toClient = toClient
    self.conflicts = conflicts
    self.roundCount = roundCount
    self.epochDecision = epochDecision
  }
}

extension SynchronizationReport: Sendable where Element: Sendable, ID: Sendable {}
extension SynchronizationReport: Equatable where Element: Equatable {}
extension SynchronizationReport: Hashable where Element: Hashable, ID: Hashable {}

/// An error of a synchronization. Errors of the remote, a resolver or a policy are passed on
/// unchanged.
public struct SynchronizationError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of error.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code.
    public let name: String
    /// The name.
    public var description: String { name }

    /// Other clients changed the contents first in each round.
    public static let tooManyRounds = Code(name: "tooManyRounds")
    /// The policy decided to adopt a remote that has no contents. Nothing was changed.
    public static let nothingToAdopt = Code(name: "nothingToAdopt")
  }

  /// The kind of error.
  public let code: Code
  /// A sentence about the cause, and what to do.
  public let message: String

  private init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The message.
  public var description: String { message }

  @usableFromInline
  package static func tooManyRounds(_ count: Int) -> SynchronizationError {
    SynchronizationError(
      .tooManyRounds,
      "others changed the contents in each of \(count) rounds; try again later")
  }

  @usableFromInline
  package static let nothingToAdopt = SynchronizationError(
    .nothingToAdopt, "the remote has no contents to adopt; choose another epoch policy")
}
