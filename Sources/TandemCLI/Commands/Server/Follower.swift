import Tandem
import TandemServer

/// Keeps copies of the spaces of a leader in a directory, for `tandem serve --follow`.
///
/// The leader lists its spaces with a text for each that changes with its commits and its members. Of each space whose
/// text has changed, the rows that were written since are fetched, and the members if they have changed. They are written
/// in one transaction.
struct Follower: Sendable {
  let server: FollowedServer
  let spaces: SpaceDirectory
  /// The directory.
  let path: String
  let following: Following
  let maxSpaceCount: Int
  let log: @Sendable (ServerEvent) -> Void

  /// The number of spaces that are fetched at a time.
  private static let width = 4
  /// The least pause between two lists.
  private static let pause = Duration.milliseconds(100)
  /// The pauses after failures.
  private static let backoff = Backoff(max: .seconds(15))
  /// The number of times that a copy is begun anew in one go.
  private static let maxAttemptCount = 4
  /// The number of former copies of a space that are kept before it is not copied any more.
  private static let maxKeptCount = 3

  /// The time after which a space is looked at although its text has not changed, should the clock of the leader's files
  /// be wrong.
  private static let maxKnownTime = Duration.seconds(600)

  /// The tag that no members have.
  private static let noMembers = "none"

  /// What the last rounds have shown.
  private struct State {
    /// The text of each space that is in step, and until when that is believed.
    var known: [String: (text: String, end: ContinuousClock.Instant)] = [:]
    /// The last fault of each space that is not, and when it is tried again.
    var faults: [String: (text: String, count: Int, end: ContinuousClock.Instant)] = [:]
    var absent: Set<String> = []
    /// The reason why the leader could not be asked.
    var contactFault: String?
    var wasComplete = false
    /// True if the leader gave no members.
    var lacksMembers = false
  }

  /// Follows until the task is cancelled, or the directory is promoted.
  func run() async {
    var state = State()
    var tag: String?
    var failureCount = 0
    while !Task.isCancelled, !following.isPromoted {
      let start = ContinuousClock.now
      do {
        let list = try await server.spaces(after: tag)
        tag = list.tag
        if state.contactFault != nil {
          log(ServerEvent(.notice, "the leader \(server.url) answers again"))
        }
        (state.contactFault, failureCount) = (nil, 0)
        try await bring(list, &state)
        // A leader with many spaces takes longer for its list, and is asked less often.
        let time = ContinuousClock.now - start
        try await Task.sleep(for: max(Self.pause, min(time, .seconds(1))))
      } catch {
        if Task.isCancelled { break }
        tag = nil
        failureCount += 1
        if state.contactFault != "\(error)" {
          log(
            ServerEvent(
              .warning, "cannot follow \(server.url): \(message(of: error)). Tries again"))
        }
        (state.contactFault, state.wasComplete) = ("\(error)", false)
        try? await Task.sleep(for: Self.pause(after: failureCount))
      }
    }
    guard following.isPromoted else { return }
    log(ServerEvent(.notice, "the spaces are promoted: this server follows \(server.url) no more"))
  }

  private static func pause(after failureCount: Int) -> Duration {
    backoff.delay(afterFailure: failureCount, chance: .random(in: 0...1))
  }

  private func message(of error: any Error) -> String {
    LibraryNames.replaced(in: "\(error)").escapingControls()
  }

  /// Brings all spaces of a list in step.
  private func bring(_ list: SpaceCopyList, _ state: inout State) async throws {
    guard !following.isPromoted else { return }
    let time = WallClock.seconds()
    let changed = list.spaces.filter { name, text in
      if let known = state.known[name], known.text == text, known.end > .now { return false }
      return state.faults[name].map { $0.end <= .now } ?? true
    }
    try block(changed.keys)
    try await withThrowingTaskGroup(of: (String, (any Error)?).self) { group in
      var waiting = changed.keys.sorted()[...]
      var count = 0
      while count > 0 || !waiting.isEmpty {
        if count < Self.width, let name = waiting.popFirst() {
          count += 1
          group.addTask {
            do {
              try await self.copy(name, withMembers: list.hasMembers(of: name))
              return (name, nil)
            } catch {
              return (name, error)
            }
          }
          continue
        }
        guard let (name, error) = try await group.next() else { break }
        count -= 1
        note(error, of: name, list.spaces[name], &state)
      }
    }
    try Task.checkCancellation()
    // From then on, the directory has spaces, and no copies.
    guard !following.isPromoted else { return }
    try await noteAbsent(list, &state)
    noteFormer(list, state)
    var status = following.status
    status.spaceCount = list.spaces.count
    status.failedCount = state.faults.count
    if state.faults.isEmpty { status.completion = time }
    following.status = status
    if state.faults.isEmpty, !state.wasComplete {
      log(
        ServerEvent(
          .notice,
          "the copies of \(Quantity.count(list.spaces.count, "space")) of \(server.url) are in step"
        ))
    }
    state.wasComplete = state.faults.isEmpty
    noteMembers(list, &state)
  }

  private func noteMembers(_ list: SpaceCopyList, _ state: inout State) {
    let lacksMembers = !list.spaces.keys.allSatisfy(list.hasMembers)
    if lacksMembers, !state.lacksMembers {
      log(
        ServerEvent(
          .warning,
          "the leader \(server.url) is of an earlier version, and does not give the members of its spaces: update it, or "
            + "copy its file members.sqlite here"))
    }
    state.lacksMembers = lacksMembers
  }

  private func note(
    _ error: (any Error)?, of name: String, _ text: String?, _ state: inout State
  ) {
    guard let error else {
      state.known[name] = text.map { ($0, .now + Self.maxKnownTime) }
      state.faults[name] = nil
      return
    }
    // A copy that is promoted is none any more, which is no fault.
    guard !following.isPromoted else { return }
    let (fault, count) = (message(of: error), (state.faults[name]?.count ?? 0) + 1)
    if !Task.isCancelled, state.faults[name]?.text != fault {
      log(ServerEvent(.error, "the copy is not in step: \(fault). Tries again", space: name))
    }
    state.faults[name] = (fault, count, .now + Self.pause(after: count))
  }

  /// Blocks the names of spaces that were never copied: after a promotion, an empty space of such a name would look to all
  /// replicas as if the history was lost.
  private func block(_ names: some Sequence<String>) throws {
    try spaces.noteIncomplete(
      names.filter { name in
        SpaceName.isValid(name) && !spaces.contains(name) && spaces.former(name) != .incomplete
      })
  }

  /// Notes which copies the leader has no more. They stay.
  private func noteAbsent(_ list: SpaceCopyList, _ state: inout State) async throws {
    for name in state.faults.keys where list.spaces[name] == nil && !spaces.contains(name) {
      state.faults[name] = nil
    }
    for name in try spaces.names() where list.spaces[name] == nil {
      await noteAbsence(of: name, list.former[name], &state)
    }
    state.absent = state.absent.filter { list.spaces[$0] == nil }
  }

  private func noteAbsence(
    of name: String, _ former: FormerSpace?, _ state: inout State
  ) async {
    guard !state.absent.contains(name), state.faults[name].map({ $0.end <= .now }) ?? true else {
      return
    }
    state.known[name] = nil
    do {
      let isNews = try await markAbsent(name)
      state.absent.insert(name)
      state.faults[name] = nil
      guard isNews else { return }
    } catch {
      note(error, of: name, nil, &state)
      return
    }
    let reason =
      switch former {
      case .renamed(let other): "it is called \(other) there"
      case .deleted: "it was deleted there"
      case .incomplete: "it is not complete there"
      case nil: "it is not in its list"
      }
    log(
      ServerEvent(
        .warning,
        "the leader has the space \(name) no more: \(reason.escapingControls()). The copy is kept, and not promoted "
          + "unless its name is given", space: name))
  }

  /// Marks the copy of a space that the leader has no more; returns false if it was marked before, or is none.
  private func markAbsent(_ name: String) async throws -> Bool {
    let file = spaces.file(of: name)
    do {
      let copy = try await SQLiteSpaceStore.read(path: file) { try $0.copy() }
      guard let copy, !copy.isAbsent else { return false }
    } catch let error as SpaceError where error.code == .empty {
      // An interruption has left it.
      return false
    }
    try await Self.write(file) { try $0.noteAbsence(true) }
    return true
  }

  private func noteFormer(_ list: SpaceCopyList, _ state: State) {
    for (name, former) in list.former where SpaceName.isValid(name) {
      if case .renamed(let other) = former, !SpaceName.isValid(other) { continue }
      guard spaces.former(name) != former else { continue }
      do {
        try spaces.note(former, of: name)
      } catch {
        log(ServerEvent(.error, "\(error)", space: name))
      }
    }
    // The others may not be complete.
    for name in list.spaces.keys where state.known[name] != nil {
      unlink(spaces.formerPath(of: name))
    }
  }
}

// MARK: - One space

extension Follower {
  /// Brings the copy of a space in step.
  private func copy(_ name: String, withMembers: Bool) async throws {
    guard SpaceName.isValid(name) else {
      throw SpaceCopyError.foreign("a space has no name that a file could have")
    }
    let file = spaces.file(of: name)
    let copy = try await present(name)
    var since = copy?.position
    /// A state of the copy that the leader has to have.
    var former: SpaceRevision?
    for _ in 1...Self.maxAttemptCount {
      // A whole copy may be of another space, and comes with its members.
      let members = since == nil ? nil : copy?.members.map(SpaceMember.tag)
      switch try await fetch(name, since, withMembers ? members ?? Self.noMembers : nil) {
      case .gone(.horizon):
        if let copy, since != nil {
          log(
            ServerEvent(
              .notice, "the leader has forgotten what followed the copy: it is copied as a whole",
              space: name))
          (since, former) = (nil, copy.position.head)
        }
      case .gone(.epoch), .gone(.history):
        if let copy, since != nil || former != nil { try await keep(name, copy) }
        (since, former) = (nil, nil)
      case .pages(let pages, let header):
        if let copy, copy.position == header.position, copy.horizon == header.horizon,
          header.members == nil
        {
          if copy.isAbsent { try await Self.write(file) { try $0.noteAbsence(false) } }
          return
        }
        do {
          let following = following
          return try await SQLiteSpaceStore.receiveCopy(
            path: file, since: since, after: former, header,
            forEachPage: { body in try pages.forEach(body) },
            isPermitted: { !following.isPromoted })
        } catch SpaceCopyError.lost {
          if let copy { try await keep(name, copy) }
          former = nil
        } catch SpaceCopyError.differs where since != nil {
          log(
            ServerEvent(
              .warning, "\(SpaceCopyError.differs): the space is copied as a whole", space: name))
          (since, former) = (nil, since?.head)
        }
      }
    }
    throw SpaceCopyError.foreign("it never ends")
  }

  private static func write(
    _ file: String, _ body: @escaping @Sendable (SpaceTables) throws -> Void
  ) async throws {
    try await SQLiteSpaceStore.write(path: file, body)
  }

  /// The copy of a space; `nil` if there is none yet.
  private func present(_ name: String) async throws -> SpaceCopy? {
    if spaces.contains(name) {
      do {
        let copy = try await SQLiteSpaceStore.read(path: spaces.file(of: name)) { try $0.copy() }
        guard let copy else { throw SpaceCopyError.notACopy }
        return copy
      } catch let error as SpaceError where error.code == .empty {
        // An interruption has left it.
        return nil
      }
    }
    guard try spaces.names().count < maxSpaceCount else {
      throw FileError(
        path: path, action: "written",
        reason: "it has \(maxSpaceCount) spaces, the most (--\(ServeCommand.Option.maxSpaces.name))"
      )
    }
    return nil
  }

  private enum Fetched {
    case pages(CopyPages, SpaceCopyHeader)
    case gone(SyncGone)
  }

  /// Fetches the rows that were written since a position, or all.
  private func fetch(
    _ name: String, _ since: SpaceCopyPosition?, _ members: String?
  ) async throws -> Fetched {
    var pages = try CopyPages(in: path)
    var cursor: String?
    for _ in 0..<SyncLimits.maxPullPageCount {
      guard !following.isPromoted else { throw SpaceCopyError.stopped }
      switch try await server.page(
        of: name, since: since, cursor: cursor, members: members)
      {
      case .gone(let reason): return .gone(reason)
      case .page(let bytes):
        let header = try SpaceCopyHeader(ofPage: bytes)
        try pages.append(bytes)
        guard let next = header.next else {
          // The leader has the space again: a promotion must not take the copy for that of a deleted one.
          if let former = spaces.former(name), former != .incomplete {
            try spaces.noteIncomplete([name])
          }
          return .pages(pages, header)
        }
        guard header.isBeyond(cursor) else {
          throw SpaceCopyError.foreign("the place of a page is not after that of the page before")
        }
        cursor = next
      }
    }
    throw SpaceCopyError.foreign("it has more than \(SyncLimits.maxPullPageCount) pages")
  }

  /// Keeps a copy that the leader does not continue, under another name.
  private func keep(_ name: String, _ copy: SpaceCopy) async throws {
    let kept = try await SpaceKeeping(spaces: spaces, path: path).keep(
      name, copy, maxCount: Self.maxKeptCount)
    log(
      ServerEvent(
        .warning,
        "the leader has another history of the space: the former copy is kept as \(kept)",
        space: name))
  }
}
