internal import TandemSpace
internal import TandemSync

// MARK: - Copies for a server that follows this one

extension SyncService {
  /// The time that a request for the list waits for a change, and the pause between two looks.
  private static let maxListTime = Duration.seconds(5)
  private static let listPause = Duration.milliseconds(100)

  func copies(after tag: String?) async throws -> SpaceCopyList {
    guard let directory = spaces as? SpaceDirectory else { throw Following.databaseRefusal }
    let end = ContinuousClock.now + Self.maxListTime
    while true {
      let list = try directory.copies()
      if list.tag != tag || ContinuousClock.now >= end { return list }
      try await Task.sleep(for: Self.listPause)
    }
  }

  func copy(
    of space: String, since: SpaceCopyPosition?, _ cursor: String?, members known: String?
  ) async throws -> SyncReply {
    let answer = try await spaces.with(space) { store -> SpaceCopyAnswer in
      guard let file = store as? SQLiteSpaceStore else { throw Following.databaseRefusal }
      let answer = try await file.copyPage(since: since, cursor: cursor)
      guard let known, case .page(let page) = answer else { return answer }
      // After the page: no copy has a commit together with a member that was removed before the commit.
      let members = try await self.memberships.members(of: space)
      guard SpaceMember.tag(of: members) != known else { return answer }
      return .page(try SpaceCopyHeader.adding(members, toLast: page))
    }
    switch answer {
    case .page(let bytes): return .lines(bytes)
    case .gone(let reason): return .outcome(.gone(reason))
    }
  }
}
