public import TandemDifferences

/// What a synchronization did.
public struct SynchronizationReport<Element, ID: Equatable> {
  /// The revision client and remote are in step at; `nil` if neither had anything to create.
  public var revision: Revision?
  /// What leads from the client's contents before to those after.
  public var toClient: SetDifference<Element>
  /// Every conflict that was met and what became of it. The unresolved ones are also the shadow's
  /// ``Shadow/openConflicts``.
  public var conflicts: [ConflictReport<Element, ID>]
  /// How many rounds it took: 1, and one more for each push that was rejected.
  public var roundCount: Int
  /// What the policy said to a change of epoch; `nil` if there was none.
  public var epochDecision: EpochPolicy.Decision?

  /// Puts a report together from its parts.
  @inlinable
  public init(
    revision: Revision? = nil, toClient: SetDifference<Element> = SetDifference(),
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
  /// How many rounds are tried before giving up; at least one is.
  public var maxRoundCount: Int
  /// Makes the token of a push; never the same twice.
  public var makeToken: @Sendable () -> PushToken
  /// Waits before a round, which is given by its number, 2 for the first time: the place for a
  /// back-off. Does not wait unless told otherwise.
  public var pause: @Sendable (_ round: Int) async throws -> Void

  /// Options with the given values: 8 rounds, random tokens and no pauses unless told otherwise.
  public init(
    maxRoundCount: Int = 8, makeToken: @escaping @Sendable () -> PushToken = PushToken.random,
    pause: @escaping @Sendable (_ round: Int) async throws -> Void = { _ in }
  ) {
    self.maxRoundCount = maxRoundCount
    self.makeToken = makeToken
    self.pause = pause
  }
}
