/// The state of a space as a whole.
package struct SpaceState: Hashable, Sendable {
  /// The last commit.
  package let head: SpaceRevision
  /// The digest of all live records at ``head``.
  package let digest: RecordDigest
  /// The version below which deletions and the versions of fields have been forgotten.
  package let horizon: Int
  /// The synchronized tables.
  package let tables: [SpaceTable]

  /// A state.
  package init(head: SpaceRevision, digest: RecordDigest, horizon: Int, tables: [SpaceTable]) {
    self.head = head
    self.digest = digest
    self.horizon = horizon
    self.tables = tables
  }
}
