package import TandemRecords
package import TandemSync

/// What an account may do in a space as its member.
package enum SpaceRole: String, CaseIterable, Comparable, Sendable {
  case reader
  /// To read and to change the records, and to declare tables.
  case writer
  /// All that a writer may, and to change the members.
  case owner

  /// True if the second role may do more.
  package static func < (first: SpaceRole, second: SpaceRole) -> Bool {
    first.rank < second.rank
  }

  private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

  /// The rights of the role.
  package var access: SpaceListing.Access { self == .reader ? .read : .write }
}

/// A member of a space: an account with a role.
package struct SpaceMember: Hashable, Sendable {
  /// The maximum number of members of a space.
  package static let maxCount = 1_000

  /// The account.
  package let account: String
  /// The role.
  package let role: SpaceRole

  /// A member.
  package init(account: String, role: SpaceRole) {
    self.account = account
    self.role = role
  }
}

extension SpaceMember {
  /// The member of a row of an account and a role; `nil` if another program has changed it.
  package init?(_ row: [FieldValue]) {
    guard let account = row[0].textValue,
      let role = row[1].textValue.flatMap({ SpaceRole(rawValue: $0) })
    else { return nil }
    self.init(account: account, role: role)
  }
}

extension SyncRequestError {
  /// The refusal of an account that may create no more spaces.
  package static func tooManySpaces(_ maxCount: Int) -> SyncRequestError {
    SyncRequestError(
      .overQuota, "the account has created \(maxCount) spaces, the most that it may create")
  }

  /// The refusal of a client that is no owner of the space.
  package static let ownersOnly = SyncRequestError(
    .unauthorized, "only an owner of the space may see and change its members")
}

/// The members of the spaces of a store. Their roles are rights beside those of access tokens.
package protocol SpaceMemberships: Sendable {
  /// Makes ``role(of:in:)`` and ``roles(of:)`` see all changes that were made before.
  func refresh() async throws

  /// The role of an account in a space; `nil` if it is no member, or if there is no such space.
  func role(of account: String, in space: String) throws -> SpaceRole?

  /// The roles of an account, by the names of the spaces of which it is a member.
  func roles(of account: String) throws -> [String: SpaceRole]

  /// The members of a space, sorted by the bytes of their accounts.
  func members(of space: String) async throws -> [SpaceMember]

  /// Changes the members of a space while nobody else does.
  ///
  /// - Returns: The members after the change.
  /// - Throws: ``TandemSync/SyncRequestError``, as ``SpaceMemberChange/applied(to:)``.
  func change(_ change: SpaceMemberChange, in space: String) async throws -> [SpaceMember]
}
