public import TandemDifferences

/// A push as a shadow keeps it until its reply is known.
@usableFromInline
package struct ConditionalPush<Element> {
  /// The condition for accepting a push.
  @usableFromInline
  package enum Condition: Hashable, Sendable, Codable {
    /// The contents are at exactly this revision.
    case revision(RemoteRevision)
    /// There are no contents: the push creates them.
    case absent
  }

  /// The condition for accepting this push.
  @usableFromInline
  package var condition: Condition
  /// The new contents in full.
  @usableFromInline
  package var contents: [Element]
  /// The difference from the contents at the condition's revision, or from empty contents.
  @usableFromInline
  package var difference: SetDifference<Element>
  /// The identifier of this push.
  @usableFromInline
  package var token: PushToken

  /// Creates a push from its parts.
  @inlinable
  package init(
    condition: Condition, contents: [Element], difference: SetDifference<Element>, token: PushToken
  ) {
    self.condition = condition
    self.contents = contents
    self.difference = difference
    self.token = token
  }

  /// The revision that the contents must have; `nil` if there must be none.
  package var revision: RemoteRevision? {
    switch condition {
    case .revision(let revision): revision
    case .absent: nil
    }
  }
}

extension ConditionalRemote {
  /// Sends a push.
  @usableFromInline
  package func push(_ push: ConditionalPush<Element>) async throws -> RemoteRevision? {
    try await self.push(
      push.contents, difference: push.difference, at: push.revision, token: push.token.text)
  }
}

/// The identifier of a push, as a shadow keeps it.
@usableFromInline
package struct PushToken: Hashable, Sendable, Codable {
  /// The token as text.
  package var text: String

  /// Creates a token from a text that no other push may ever have.
  package init(_ text: String) {
    self.text = text
  }

  /// Returns a token of 128 random bits.
  @usableFromInline
  package static func random() -> PushToken {
    let words = (0..<2).map { _ in UInt64.random(in: .min ... .max) }
    return PushToken(words.map { String($0, radix: 16) }.joined(separator: "-"))
  }
}

extension ConditionalPush: Sendable where Element: Sendable {}
extension ConditionalPush: Equatable where Element: Equatable {}
extension ConditionalPush: Hashable where Element: Hashable {}
extension ConditionalPush: Encodable where Element: Encodable {}
extension ConditionalPush: Decodable where Element: Decodable {}
