/// Two changes of one value that exclude each other, with every version that exists.
///
/// The value is a record or one field of a record; policies treat both alike. Two sides that made
/// the *same* change are never in conflict. Names put the local side first.
public enum MergeConflict<Value> {
  /// Both sides changed the value, to different values.
  case editEdit(base: Value, local: Value, remote: Value)
  /// Both sides have the value, unequal, and there is no base: both added it, or the base is
  /// unknown.
  case addAdd(local: Value, remote: Value)
  /// The local side changed what the remote side deleted.
  case editDelete(base: Value, local: Value)
  /// The local side deleted what the remote side changed.
  case deleteEdit(base: Value, remote: Value)

  /// The kind of a conflict, without its versions.
  public enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
    /// Both sides changed the value.
    case editEdit = "edit/edit"
    /// Both sides have the value and there is no base.
    case addAdd = "add/add"
    /// The local side changed the value, the remote side deleted it.
    case editDelete = "edit/delete"
    /// The local side deleted the value, the remote side changed it.
    case deleteEdit = "delete/edit"
  }

  /// The kind of conflict.
  @inlinable
  public var kind: Kind {
    switch self {
    case .editEdit: .editEdit
    case .addAdd: .addAdd
    case .editDelete: .editDelete
    case .deleteEdit: .deleteEdit
    }
  }

  /// The version both sides started from; `nil` for add/add.
  @inlinable
  public var base: Value? {
    switch self {
    case .editEdit(let base, _, _), .editDelete(let base, _), .deleteEdit(let base, _): base
    case .addAdd: nil
    }
  }

  /// The local version; `nil` if the local side deleted it.
  @inlinable
  public var local: Value? {
    switch self {
    case .editEdit(_, let local, _), .addAdd(let local, _), .editDelete(_, let local): local
    case .deleteEdit: nil
    }
  }

  /// The remote version; `nil` if the remote side deleted it.
  @inlinable
  public var remote: Value? {
    switch self {
    case .editEdit(_, _, let remote), .addAdd(_, let remote), .deleteEdit(_, let remote): remote
    case .editDelete: nil
    }
  }

  /// Any version, preferably the local one. All versions have the same identity.
  @inlinable
  package var anyVersion: Value {
    switch self {
    case .editEdit(_, let local, _), .addAdd(let local, _), .editDelete(_, let local): local
    case .deleteEdit(_, let remote): remote
    }
  }
}

extension MergeConflict where Value: Equatable {
  /// Creates the conflict of three versions, of which absent ones are `nil`. Returns `nil` if there
  /// is no conflict, because the sides agree or only one of them differs from the base.
  @inlinable
  public init?(base: Value?, local: Value?, remote: Value?) {
    guard local != remote, local != base, remote != base else { return nil }
    switch (base, local, remote) {
    case (let base?, let local?, let remote?):
      self = .editEdit(base: base, local: local, remote: remote)
    case (nil, let local?, let remote?): self = .addAdd(local: local, remote: remote)
    case (let base?, let local?, nil): self = .editDelete(base: base, local: local)
    case (let base?, nil, let remote?): self = .deleteEdit(base: base, remote: remote)
    default: return nil
    }
  }
}

extension MergeConflict: Sendable where Value: Sendable {}
extension MergeConflict: Equatable where Value: Equatable {}
extension MergeConflict: Hashable where Value: Hashable {}
extension MergeConflict: Encodable where Value: Encodable {}
extension MergeConflict: Decodable where Value: Decodable {}

/// The resolution of a conflict.
public enum MergeResolution<Value> {
  /// The local version is taken. If the local side deleted the value, it is deleted.
  case local
  /// The remote version is taken. If the remote side deleted the value, it is deleted.
  case remote
  /// This value replaces both versions.
  case merged(Value)
  /// The value is deleted on both sides.
  case deleted
  /// The conflict stays open: each side keeps its version, and the conflict is reported.
  case unresolved

  /// True if the conflict stays open.
  @inlinable
  public var isUnresolved: Bool {
    if case .unresolved = self { true } else { false }
  }
}

extension MergeResolution: Sendable where Value: Sendable {}
extension MergeResolution: Equatable where Value: Equatable {}
extension MergeResolution: Hashable where Value: Hashable {}
extension MergeResolution: Encodable where Value: Encodable {}
extension MergeResolution: Decodable where Value: Decodable {}

/// A conflict of a merge, its record's identity, and its resolution.
public struct ConflictReport<Element, ID: Equatable> {
  /// The identity of the record in conflict.
  public var id: ID
  /// The conflict, with every version.
  public var conflict: MergeConflict<Element>
  /// The resolution by the policy or resolver.
  public var resolution: MergeResolution<Element>

  /// Creates a report from its parts.
  @inlinable
  package init(id: ID, conflict: MergeConflict<Element>, resolution: MergeResolution<Element>) {
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
