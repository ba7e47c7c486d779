/// A conflict that a merge met, whose it was, and what became of it.
public struct ConflictReport<Element, ID: Equatable> {
  /// The identity of the record in conflict.
  public var id: ID
  /// What the two sides did, with every version.
  public var conflict: MergeConflict<Element>
  /// What the policy or resolver made of it.
  public var resolution: MergeResolution<Element>

  /// Joins a conflict with its resolution.
  @inlinable
  public init(id: ID, conflict: MergeConflict<Element>, resolution: MergeResolution<Element>) {
    self.id = id
    self.conflict = conflict
    self.resolution = resolution
  }
}

extension ConflictReport: Sendable where Element: Sendable, ID: Sendable {}
extension ConflictReport: Equatable where Element: Equatable {}
extension ConflictReport: Hashable where Element: Hashable, ID: Hashable {}
extension ConflictReport: Encodable where Element: Encodable, ID: Encodable {}
extension ConflictReport: Decodable where Element: Decodable, ID: Decodable {}
