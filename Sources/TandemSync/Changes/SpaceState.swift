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

  package init(head: SpaceRevision, digest: RecordDigest, horizon: Int, tables: [SpaceTable]) {
    self.head = head
    self.digest = digest
    self.horizon = horizon
    self.tables = tables
  }

  /// The state for a program that may know no constraints. Those that do get them from a declaration.
  package var withoutConstraints: SpaceState {
    SpaceState(
      head: head, digest: digest, horizon: horizon,
      tables: tables.map(\.withoutConstraints.withoutNumbers))
  }
}

/// A space that a client may use, and its rights.
package struct SpaceListing: Hashable, Sendable {
  /// The rights of a client in a space.
  package enum Access: String, Hashable, Sendable, CaseIterable {
    /// To read the records.
    case read
    /// To read and to change the records, and to declare tables.
    case write
  }

  /// The name of the space.
  package let name: String
  /// The rights.
  package let access: Access

  package init(name: String, access: Access) {
    self.name = name
    self.access = access
  }
}
