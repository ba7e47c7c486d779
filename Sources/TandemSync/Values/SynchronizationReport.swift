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

/// Bounds and services of a synchronization.
public struct SynchronizationOptions: Sendable {
  /// The maximum number of rounds; at least one takes place.
  public var maxRoundCount: Int
  /// Makes the token of a push; never the same token twice.
  public var makeToken: @Sendable () -> PushToken
  /// Waits before each round but the first. `round` counts from 1.
  public var pause: @Sendable (_ round: Int) async throws -> Void

  /// Creates options: by default 8 rounds, random tokens, and pauses. The bound of the first pause is 100
  /// milliseconds; it doubles with each further round, up to 5 seconds. A pause is a random part of its
  /// bound, so that clients whose pushes collided once do not collide again at the same moment.
  public init(
    maxRoundCount: Int = 8, makeToken: @escaping @Sendable () -> PushToken = PushToken.random,
    pause: @escaping @Sendable (_ round: Int) async throws -> Void = RoundBackoff().pause()
  ) {
    self.maxRoundCount = maxRoundCount
    self.makeToken = makeToken
    self.pause = pause
  }
}

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
