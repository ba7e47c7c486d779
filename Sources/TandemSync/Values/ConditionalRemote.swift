public import TandemDifferences

/// A place that holds the shared contents and accepts a push only if nobody else was quicker.
///
/// A web service with entity tags, an object store with conditional writes, or a row with a version
/// column can all be one. What a conforming type promises:
///
/// - A push is applied in full or not at all, and only if its condition holds at that moment.
/// - Every accepted push makes a revision that never was before, and every creation a new epoch.
/// - A push whose token was accepted before, as far back as the remote remembers, is answered with
///   the revision it made then, and is not applied again.
/// - Contents that cannot be read or understood are an error. They are never reported as absent,
///   nor as empty.
public protocol ConditionalRemote<Element>: Sendable {
  /// What the contents are made of.
  associatedtype Element: Sendable

  /// The contents as they are now.
  func pull() async throws -> RemoteContents<Element>

  /// Replaces the contents if the push's condition holds. An error leaves open whether it was.
  func push(_ push: ConditionalPush<Element>) async throws -> PushReply
}

/// What a remote holds.
public enum RemoteContents<Element> {
  /// There is nothing yet, or no longer. This is not the same as empty contents.
  case absent
  /// Elements, possibly none, and the revision that names this state.
  case present([Element], Revision)
}

/// New contents for a remote, and the condition for accepting them.
public struct ConditionalPush<Element> {
  /// What must hold for a push to be accepted.
  public enum Condition: Hashable, Sendable, Codable {
    /// The contents are at exactly this revision.
    case revision(Revision)
    /// There are no contents: the push creates them.
    case absent
  }

  /// What must hold for this push to be accepted.
  public var condition: Condition
  /// The new contents in full, for remotes that replace them.
  public var contents: [Element]
  /// What the push changes, for remotes that keep single records: the difference from the contents
  /// at the condition's revision, or from nothing.
  public var difference: SetDifference<Element>
  /// Names this push.
  public var token: PushToken

  /// Puts a push together from its parts.
  @inlinable
  public init(
    condition: Condition, contents: [Element], difference: SetDifference<Element>, token: PushToken
  ) {
    self.condition = condition
    self.contents = contents
    self.difference = difference
    self.token = token
  }
}

/// A remote's answer to a push.
public enum PushReply: Hashable, Sendable, Codable {
  /// The push was applied, now or when it came first, and made this revision.
  case accepted(Revision)
  /// The condition did not hold. The contents are at this revision; `nil` if they are absent.
  case rejected(current: Revision?)
}

extension RemoteContents: Sendable where Element: Sendable {}
extension RemoteContents: Equatable where Element: Equatable {}
extension RemoteContents: Hashable where Element: Hashable {}
extension ConditionalPush: Sendable where Element: Sendable {}
extension ConditionalPush: Equatable where Element: Equatable {}
extension ConditionalPush: Hashable where Element: Hashable {}
extension ConditionalPush: Encodable where Element: Encodable {}
extension ConditionalPush: Decodable where Element: Decodable {}
