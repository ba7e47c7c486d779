package import TandemSync

/// A change of one member of a space.
package struct SpaceMemberChange: Hashable, Sendable {
  /// The account.
  package let account: String
  /// Its new role; `nil` to remove it. An account that is no member can be removed.
  package let role: SpaceRole?
  /// The account that asks for the change, and has to be an owner; `nil` for an operator.
  package let asker: String?
  /// True if the space has to keep an owner.
  package let keepsOwner: Bool

  /// A change.
  package init(
    account: String, role: SpaceRole?, asker: String? = nil, keepsOwner: Bool = false
  ) {
    self.account = account
    self.role = role
    self.asker = asker
    self.keepsOwner = keepsOwner
  }

  /// The members after the change, sorted by the bytes of their accounts.
  ///
  /// - Throws: ``TandemSync/SyncRequestError`` with code `unauthorized`, `lastOwner` or `overLimit`.
  package func applied(
    to members: [SpaceMember]
  ) throws(SyncRequestError) -> [SpaceMember] {
    let owners = members.filter { $0.role == .owner }.map(\.account)
    if let asker, !owners.contains(asker) { throw .ownersOnly }
    if keepsOwner, role != .owner, owners == [account] {
      throw SyncRequestError(
        .lastOwner, "\(account) is the only owner of the space: give it another owner first")
    }
    let others = members.filter { $0.account != account }
    guard let role else { return others }
    guard others.count < SpaceMember.maxCount else {
      throw SyncRequestError(
        .overLimit, "the space has \(SpaceMember.maxCount) members, the most: remove some")
    }
    return (others + [SpaceMember(account: account, role: role)]).sorted {
      $0.account.utf8.lexicographicallyPrecedes($1.account.utf8)
    }
  }
}
