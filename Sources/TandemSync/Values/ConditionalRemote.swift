public import TandemDifferences

/// A store of shared contents that accepts a push only if the contents did not change since a given
/// revision.
///
/// A web service with entity tags, an object store with conditional writes, and a row with a version
/// column can all be one. A conforming type promises:
///
/// - A push is applied in full or not at all, and only if its condition holds at that moment.
/// - Every accepted push makes a revision that never existed before, and every creation a new epoch.
/// - If the token of a push was accepted before, as far back as the remote remembers, the reply is
///   the revision made then, and the push is not applied again.
/// - Contents that cannot be read or decoded are an error, never reported as absent or empty.
public protocol ConditionalRemote<Element>: Sendable {
  /// The type of the elements that the contents consist of.
  associatedtype Element: Sendable

  /// Returns the current contents.
  func pull() async throws -> RemoteContents<Element>

  /// Replaces the contents if the push's condition holds. After an error it is unknown if the push
  /// was applied.
  func push(_ push: ConditionalPush<Element>) async throws -> PushReply
}

/// The contents of a remote.
public enum RemoteContents<Element> {
  /// The contents were never created, or were removed. This differs from empty contents.
  case absent
  /// Elements, possibly none, and the revision of this state.
  case present([Element], RemoteRevision)
}

/// An identifier of one state of a remote's contents.
///
/// Two revisions identify the same state exactly if they are equal. They have no order, because an
/// entity tag or a version column of any service can be a commit. A condition on a revision covers
/// both parts.
///
/// Revisions of a space that Tandem itself serves are another type: they count their commits, so
/// they are ordered within an epoch. The two share ``EpochPolicy``, which needs the epochs alone.
public struct RemoteRevision: Hashable, Sendable, Codable {
  /// The identifier of a history. A remote draws a new one whenever its contents are created or
  /// restored, so commits of different epochs have no common base.
  public var epoch: String
  /// The identifier of one accepted push within that history.
  public var commit: String

  /// Creates a revision from its two parts.
  public init(epoch: String, commit: String) {
    self.epoch = epoch
    self.commit = commit
  }
}

extension RemoteRevision: CustomStringConvertible {
  /// The epoch and the commit, separated by a full stop.
  public var description: String { "\(epoch).\(commit)" }
}

/// New contents for a remote, and the condition for accepting them.
public struct ConditionalPush<Element> {
  /// The condition for accepting a push.
  public enum Condition: Hashable, Sendable, Codable {
    /// The contents are at exactly this revision.
    case revision(RemoteRevision)
    /// There are no contents: the push creates them.
    case absent
  }

  /// The condition for accepting this push.
  public var condition: Condition
  /// The new contents in full, for remotes that replace them.
  public var contents: [Element]
  /// The difference from the contents at the condition's revision, or from empty contents, for
  /// remotes that keep single records.
  public var difference: SetDifference<Element>
  /// The identifier of this push.
  public var token: PushToken

  /// Creates a push from its parts.
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

/// An identifier of one push, by which a remote recognises its repetition.
public struct PushToken: Hashable, Sendable, Codable {
  /// The token as text.
  public var text: String

  /// Creates a token from a text that no other push may ever have.
  public init(_ text: String) {
    self.text = text
  }

  /// Returns a token of 128 random bits.
  public static func random() -> PushToken {
    var generator = SystemRandomNumberGenerator()
    return random(using: &generator)
  }

  /// Returns a token of 128 bits from `generator`.
  public static func random(using generator: inout some RandomNumberGenerator) -> PushToken {
    PushToken(String(generator.next(), radix: 16) + "-" + String(generator.next(), radix: 16))
  }
}

/// A remote's reply to a push.
public enum PushReply: Hashable, Sendable, Codable {
  /// The push was applied, now or when it first arrived, and made this revision.
  case accepted(RemoteRevision)
  /// The condition did not hold. The contents are at this revision; `nil` if they are absent.
  case rejected(current: RemoteRevision?)
}

extension RemoteContents: Sendable where Element: Sendable {}
extension RemoteContents: Equatable where Element: Equatable {}
extension RemoteContents: Hashable where Element: Hashable {}
extension ConditionalPush: Sendable where Element: Sendable {}
extension ConditionalPush: Equatable where Element: Equatable {}
extension ConditionalPush: Hashable where Element: Hashable {}
extension ConditionalPush: Encodable where Element: Encodable {}
extension ConditionalPush: Decodable where Element: Decodable {}

extension ConditionalPush: CustomStringConvertible {
  /// The condition and the difference, as in `if 1.7: inserted [a]`.
  public var description: String {
    switch condition {
    case .revision(let revision): "if \(revision): \(difference)"
    case .absent: "if absent: \(difference)"
    }
  }
}
