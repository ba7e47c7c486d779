internal import TandemSpace
internal import TandemSync

extension SyncService {
  /// Creates a space that does not exist, which the client may.
  ///
  /// - Returns: The rights of the client in the space.
  func create(
    _ request: RoutedRequest, owner account: String, _ client: Client,
    _ access: SpaceListing.Access?
  ) async throws -> SpaceListing.Access {
    do {
      if try await spaces.create(request.space, owner: account) {
        log(memberEvent("\(account) created the space, and owns it", request.space, client))
        return .write
      }
    } catch let error as SyncRequestError where error.code == .unknownSpace && access == nil {
      // What became of a space is for its members.
      throw try await refusal(of: request.space, for: client)
    }
    // Another device of the account may have created it meanwhile.
    guard let access = try await standing(of: client, in: request).access else {
      throw SyncRequestError.unknownSpace(request.space)
    }
    return access
  }

  /// The members, which a client may see only if there are some.
  var memberships: any SpaceMemberships {
    get throws(SyncRequestError) {
      guard let members = spaces.members else { throw .ownersOnly }
      return members
    }
  }

  func setMember(
    _ account: String, _ role: SpaceRole?, in space: String, _ client: Client
  ) async throws -> [SpaceMember] {
    let change = SpaceMemberChange(
      account: account, role: role, asker: client.member, keepsOwner: true)
    // There are no members of a space that does not exist.
    let (former, members) = try await spaces.with(space) { _ in
      let former = try await self.memberships.members(of: space)
      return (former, try await self.memberships.change(change, in: space))
    }
    if members != former { log(memberEvent(Self.text(of: change), space, client)) }
    return members
  }

  /// A change of a member, for the log.
  static func text(of change: SpaceMemberChange) -> String {
    change.role.map { "made \(change.account) \($0) of the space" }
      ?? "removed the member \(change.account)"
  }

  private func memberEvent(_ text: String, _ space: String, _ client: Client) -> ServerEvent {
    var event = ServerEvent(.notice, text, space: space)
    event.account = client.account
    return event
  }
}
