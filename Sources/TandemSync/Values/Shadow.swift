public import TandemDifferences

/// What a client remembers of its last synchronization: the remote's contents as they were then,
/// and whatever is not settled yet.
///
/// Keep it beside the client's contents, and save both together, in one transaction: the shadow says
/// what the contents were changed *from*. A client that was never synchronized has an empty
/// `Shadow()`, whose ancestor is unknown.
public struct Shadow<Element> {
  /// The remote's revision at the last synchronization; `nil` if there was none.
  public var revision: Revision?
  /// The remote's contents at that revision.
  public var elements: [Element]
  /// Conflicts that no policy resolved. The client has its version, the remote has its own, and the
  /// next synchronization meets the conflict again.
  ///
  /// To settle one by hand, put the answer into the client's contents and remove the conflict here:
  /// the answer then counts as an edit of the remote version, and is pushed.
  public var openConflicts: [MergeConflict<Element>]
  /// The push whose answer is not known, if there is one. It is repeated first of all.
  public var pendingPush: PendingPush<Element>?

  /// A shadow of these parts; of a client that was never synchronized unless told otherwise.
  @inlinable
  public init(
    revision: Revision? = nil, elements: [Element] = [],
    openConflicts: [MergeConflict<Element>] = [], pendingPush: PendingPush<Element>? = nil
  ) {
    self.revision = revision
    self.elements = elements
    self.openConflicts = openConflicts
    self.pendingPush = pendingPush
  }

  /// What the client's contents are an edit of: the remote's contents as last seen, but for records
  /// in open conflict, which still have the base they had when the conflict arose.
  ///
  /// - Complexity: O(1) without open conflicts, else O(*n*).
  @inlinable
  public func ancestor<ID: Hashable>(identifiedBy id: (Element) -> ID) -> Ancestor<Element> {
    guard revision != nil else { return .unknown }
    guard !openConflicts.isEmpty else { return .known(elements) }
    let inConflict = Set(openConflicts.map { id($0.anyVersion) })
    return .known(
      elements.filter { !inConflict.contains(id($0)) } + openConflicts.compactMap(\.base))
  }
}

/// A push that was sent, or is about to be, and what its acceptance means for the client.
public struct PendingPush<Element> {
  /// What is sent, word for word, every time.
  public var push: ConditionalPush<Element>
  /// The client's contents that went into it.
  public var clientBefore: [Element]
  /// What those become when the push is accepted. Edits made since ``clientBefore`` are merged in.
  public var clientAfter: [Element]
  /// The conflicts that are open when the push is accepted.
  public var openConflicts: [MergeConflict<Element>]

  /// Puts a pending push together from its parts.
  @inlinable
  public init(
    push: ConditionalPush<Element>, clientBefore: [Element], clientAfter: [Element],
    openConflicts: [MergeConflict<Element>]
  ) {
    self.push = push
    self.clientBefore = clientBefore
    self.clientAfter = clientAfter
    self.openConflicts = openConflicts
  }
}

extension Shadow: Sendable where Element: Sendable {}
extension Shadow: Equatable where Element: Equatable {}
extension Shadow: Hashable where Element: Hashable {}
extension Shadow: Encodable where Element: Encodable {}
extension Shadow: Decodable where Element: Decodable {}

extension PendingPush: Sendable where Element: Sendable {}
extension PendingPush: Equatable where Element: Equatable {}
extension PendingPush: Hashable where Element: Hashable {}
extension PendingPush: Encodable where Element: Encodable {}
extension PendingPush: Decodable where Element: Decodable {}
