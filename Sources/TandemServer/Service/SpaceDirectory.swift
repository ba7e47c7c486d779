internal import SystemLibrary
internal import TandemDigests
package import TandemSpace
package import TandemSync

/// The spaces of a server: the files `NAME.space` of one directory.
///
/// Files stay open while they are in use, and the last used ones after that, up to a limit.
package actor SpaceDirectory: ServedSpaces {
  private final class Entry {
    let opening: Task<SQLiteSpaceStore, any Error>
    var userCount = 0
    var lastUse = 0
    /// True after an error of the file, which may have been replaced: it is opened again.
    var hasFailed = false
    /// The tasks that wait for commits, which give up their place for other spaces.
    var followers: [Int: Task<Void, any Error>] = [:]
    /// True if the followers were asked to give up their place.
    var isLeaving = false

    init(_ opening: Task<SQLiteSpaceStore, any Error>) { self.opening = opening }
  }

  private static let suffix = ".space"
  /// The number of descriptors of an open space: of the file, its log, and their readers.
  private static let descriptorCount = 20

  /// The maximum number of open spaces, unless specified otherwise: they take half of the files that
  /// the process may have open, and connections the other half.
  package static func defaultOpenCount(fileLimit: Int = OpenFileLimit.current) -> Int {
    min(1_000, max(1, fileLimit / 2 / descriptorCount))
  }

  /// The number of spaces beyond which none is created, unless specified otherwise.
  package static let defaultSpaceCount = 10_000

  nonisolated let path: String
  private let maxOpenCount: Int
  private let maxSpaceCount: Int
  private nonisolated let maxCreatedCount: Int?
  private let limits: SyncLimits
  private nonisolated let metrics: ServerMetrics
  /// The members of the spaces.
  package nonisolated let memberFile: MemberFile
  /// Lets one space at a time be created.
  nonisolated let creations = RequestGate(width: 1)
  /// `nil` for a directory to look at.
  private var lock: DirectoryLock?
  private var entries: [String: Entry] = [:]
  /// The spaces that are being renamed or deleted.
  private var closedNames: Set<String> = []
  private var useCount = 0
  /// Called when a request no longer uses a space.
  private var releases: [CheckedContinuation<Void, Never>] = []

  /// The spaces in a directory, which is created if it is missing. It is locked until they are closed.
  ///
  /// - Parameters:
  ///   - maxOpenCount: The maximum number of open files.
  ///   - maxSpaceCount: The number of spaces beyond which none is created.
  ///   - maxCreatedCount: The number of spaces that an account may create by its right to; `nil` for any number.
  /// - Throws: ``ServerError`` with code `directory`.
  package init(
    path: String, maxOpenCount: Int = SpaceDirectory.defaultOpenCount(),
    maxSpaceCount: Int = SpaceDirectory.defaultSpaceCount, maxCreatedCount: Int? = nil,
    limits: SyncLimits = SyncLimits(), metrics: ServerMetrics = ServerMetrics()
  ) throws(ServerError) {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw ServerError(.directory, "cannot create the directory \(path): \(systemReason())")
    }
    lock = try DirectoryLock(path)
    self.path = path
    memberFile = MemberFile(in: path)
    self.maxOpenCount = maxOpenCount
    self.maxSpaceCount = maxSpaceCount
    self.maxCreatedCount = maxCreatedCount
    self.limits = limits
    self.metrics = metrics
    _ = try names()
    try checkWritable()
    metrics.add { Self.gauges(of: path) }
  }

  /// The number of the spaces in a directory, and of the bytes of their files; none if it cannot be read.
  private static func gauges(of path: String) -> [ServerMetrics.Gauge] {
    let files = (directoryNames(path) ?? []).filter {
      $0.hasSuffix(suffix) || $0.hasSuffix("\(suffix)-wal")
    }
    let byteCount = files.reduce(0) { count, name in
      var status = stat()
      return count + (stat("\(path)/\(name)", &status) == 0 ? Int(status.st_size) : 0)
    }
    return [
      ServerMetrics.Gauge(
        name: "tandem_spaces", help: "Spaces in the directory.",
        value: files.count { $0.hasSuffix(suffix) }),
      ServerMetrics.Gauge(
        name: "tandem_space_bytes", help: "Bytes of the files of all spaces, with their history.",
        value: byteCount),
    ]
  }

  /// Creates something and removes it, so that a directory that cannot hold spaces is noticed at the
  /// start.
  private nonisolated func checkWritable() throws(ServerError) {
    let probe = "\(path)/.tandem-\(getpid())"
    guard mkdir(probe, 0o700) == 0 || errno == EEXIST else {
      throw ServerError(
        .directory,
        "cannot write into the directory \(path): \(systemReason()). Choose a directory with free "
          + "space that belongs to the user of the server")
    }
    rmdir(probe)
  }

  /// The spaces in a directory that exists, to look at.
  ///
  /// - Throws: ``ServerError`` with code `directory`.
  package init(reading path: String) throws(ServerError) {
    lock = nil
    self.path = path
    memberFile = MemberFile(in: path)
    maxOpenCount = 1
    maxSpaceCount = 0
    maxCreatedCount = nil
    limits = SyncLimits()
    metrics = ServerMetrics()
    _ = try names()
  }

  /// The file of a space.
  package nonisolated func file(of name: String) -> String { "\(path)/\(name)\(Self.suffix)" }

  /// - Throws: ``ServerError`` with code `directory`.
  package nonisolated func names() throws(ServerError) -> [String] {
    try entries(withSuffix: Self.suffix).filter(contains)
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  private nonisolated func entries(withSuffix suffix: String) throws(ServerError) -> [String] {
    guard let names = directoryNames(path) else {
      throw ServerError(.directory, "cannot read the directory \(path): \(systemReason())")
    }
    return names.filter { $0.hasSuffix(suffix) }.map { String($0.dropLast(suffix.count)) }
  }

  package nonisolated func marks() throws(ServerError) -> [String: String] {
    let now = WallClock.seconds()
    var marks: [String: String] = [:]
    for name in try names() { marks[name] = mark(of: name, at: now) }
    return marks
  }

  /// True if a space exists. An empty file, as a full disk leaves it, is no space.
  package nonisolated func contains(_ name: String) -> Bool {
    var status = stat()
    return SpaceName.isValid(name) && stat(file(of: name), &status) == 0 && status.st_size > 0
  }

  /// The symbolic link that keeps what became of a space without a file (``TandemSpace/FormerSpace``).
  package nonisolated func formerPath(of name: String) -> String { formerLink(of: name).path }

  nonisolated func formerLink(of name: String) -> DurableLink {
    DurableLink("\(name).former", in: path)
  }

  /// What became of a space without a file; `nil` if there was none.
  package nonisolated func former(_ name: String) -> FormerSpace? {
    formerLink(of: name).text.map { FormerSpace(text: $0) }
  }

  /// The names of the spaces of which there is no complete copy, sorted.
  ///
  /// - Throws: ``ServerError`` with code `directory`.
  package nonisolated func incompleteNames() throws(ServerError) -> [String] {
    try entries(withSuffix: ".former")
      .filter { !contains($0) && former($0) == .incomplete }
      .sorted()
  }

  /// The pause after the last change of a file until the time of the change stands for its state: the clock of the file
  /// system has steps.
  private static let settlingTime = 2.0

  /// A text that changes with the files of a space, whichever program writes them. Until their times stand for their
  /// state, it is another one at each moment.
  private nonisolated func mark(of name: String, at now: Double) -> String {
    var mark = ""
    for suffix in ["", "-wal"] {
      var status = stat()
      // Opening a space makes an empty log, and closing it removes that.
      guard stat(file(of: name) + suffix, &status) == 0, status.st_size > 0 else { continue }
      let time = status.modificationSeconds
      mark += "\(status.st_ino).\(status.st_size).\(time)"
      if abs(now - time) < Self.settlingTime { mark += "@\(now)" }
      mark += "/"
    }
    return mark
  }

  /// The spaces for a server that follows this one, each with its mark and the tag of its members.
  ///
  /// - Throws: ``ServerError`` with code `directory`; ``SyncRequestError`` with code `overLimit`.
  package nonisolated func copies() throws -> SpaceCopyList {
    let names = try names()
    guard names.count <= SyncLimits.maxListedSpaceCount else {
      throw SyncRequestError(
        .overLimit, "the server has more than \(SyncLimits.maxListedSpaceCount) spaces")
    }
    let now = WallClock.seconds()
    let members = try memberFile.tags(of: names)
    var spaces: [String: String] = [:]
    for name in names {
      spaces[name] = SpaceCopyList.text(
        mark: mark(of: name, at: now), members: members[name] ?? "")
    }
    var former: [String: FormerSpace] = [:]
    for name in try entries(withSuffix: ".former") where spaces[name] == nil {
      former[name] = self.former(name)
    }
    let list = SpaceCopyList(tag: "", spaces: spaces, former: former)
    return SpaceCopyList(
      tag: SHA256Digest(of: list.bytes).description, spaces: spaces, former: former)
  }

  package nonisolated func with<Result: Sendable>(
    _ name: String, creates: Bool, _ body: @Sendable (any SpaceStore) async throws -> Result
  ) async throws -> Result {
    guard SpaceName.isValid(name) else { throw SyncRequestError.unknownSpace(name) }
    if !contains(name) {
      if let former = former(name) { throw former.refusal(of: name) }
      guard creates else { throw SyncRequestError.unknownSpace(name) }
      _ = try await create(name, by: nil)
    }
    let store = try await open(name, creates: creates)
    do {
      let result = try await body(store)
      await release(name)
      return result
    } catch {
      await release(name, hasFailed: !(error is SyncRequestError || error is CancellationError))
      throw error
    }
  }

  package nonisolated var members: (any SpaceMemberships)? { memberFile }

  package nonisolated func create(_ name: String, owner: String) async throws -> Bool {
    guard SpaceName.isValid(name) else { throw SyncRequestError.unknownSpace(name) }
    return try await create(name, by: owner)
  }

  /// Creates a space, unless there is a space of this name. What the name had of members before is gone.
  private nonisolated func create(_ name: String, by owner: String?) async throws -> Bool {
    await creations.enter()
    defer { creations.leave() }
    guard !contains(name) else { return false }
    if let former = former(name) { throw former.refusal(of: name) }
    if let owner {
      try memberFile.create(name, owner: owner, maxCount: maxCreatedCount)
    } else {
      try memberFile.replace([], of: name)
    }
    do {
      _ = try await open(name, creates: true)
    } catch {
      try? memberFile.replace([], of: name)
      throw error
    }
    await release(name)
    return true
  }

  package nonisolated func successor(of name: String) -> String? {
    guard !contains(name), case .renamed(let successor)? = former(name) else { return nil }
    return successor
  }

  package nonisolated func follow(
    _ name: String, _ body: @escaping @Sendable (any SpaceStore) async throws -> Void
  ) async throws {
    try await with(name) { store in
      let follower = Task { try await body(store) }
      let number = await self.add(follower, to: name)
      let result = await withTaskCancellationHandler {
        await follower.result
      } onCancel: {
        follower.cancel()
      }
      await self.removeFollower(number, of: name)
      // A read that was interrupted may have failed otherwise.
      if follower.isCancelled { throw CancellationError() }
      try result.get()
    }
  }

  private func add(_ follower: Task<Void, any Error>, to name: String) -> Int {
    useCount += 1
    entries[name]?.followers[useCount] = follower
    entries[name]?.isLeaving = false
    if closedNames.contains(name) { follower.cancel() }
    return useCount
  }

  private func removeFollower(_ number: Int, of name: String) {
    entries[name]?.followers[number] = nil
  }

  private func open(_ name: String, creates: Bool) async throws -> SQLiteSpaceStore {
    // A copy that was interrupted may have left an empty file.
    let creates = creates && former(name) != .incomplete
    if entries[name] == nil {
      if !contains(name), try names().count >= maxSpaceCount {
        throw SyncRequestError(
          .overLimit, "the server has \(maxSpaceCount) spaces, the most that it may create")
      }
      try await makeRoom()
    }
    guard !closedNames.contains(name) else {
      throw SyncRequestError(
        .unavailable, "the space is being renamed or deleted; try again", retryAfter: .seconds(1))
    }
    // Another request may have opened the space meanwhile.
    let entry = entries[name] ?? newEntry(name, creates: creates)
    entry.userCount += 1
    useCount += 1
    entry.lastUse = useCount
    do {
      return try await entry.opening.value
    } catch {
      if entries[name] === entry {
        entries[name] = nil
        metrics.count(.spacesClosed)
      }
      guard let error = error as? SpaceError, error.code == .empty else { throw error }
      // The file was opened for another request, which does not create spaces.
      if creates { return try await open(name, creates: true) }
      throw former(name)?.refusal(of: name) ?? SyncRequestError.unknownSpace(name)
    }
  }

  /// Runs `body` while nobody uses a space, and its file is closed.
  ///
  /// - Throws: ``SyncRequestError`` with code `unknownSpace` or `unavailable`; the error of `body`.
  func withClosed<Result>(_ name: String, _ body: () throws -> Result) async throws -> Result {
    guard contains(name) else { throw SyncRequestError.unknownSpace(name) }
    guard closedNames.insert(name).inserted else {
      throw SyncRequestError(.unavailable, "the space is being renamed or deleted")
    }
    defer { closedNames.remove(name) }
    while let entry = entries[name] {
      if entry.userCount == 0 {
        entries[name] = nil
        await close(entry.opening)
      } else {
        for follower in entry.followers.values { follower.cancel() }
        await nextRelease()
      }
    }
    guard contains(name) else { throw SyncRequestError.unknownSpace(name) }
    return try body()
  }

  private func newEntry(_ name: String, creates: Bool) -> Entry {
    let (file, limits) = (file(of: name), limits)
    let entry = Entry(
      Task { try await SQLiteSpaceStore.open(path: file, creates: creates, limits: limits) })
    entries[name] = entry
    metrics.count(.spacesOpened)
    return entry
  }

  private func release(_ name: String, hasFailed: Bool = false) async {
    guard let entry = entries[name] else { return }
    entry.userCount -= 1
    entry.hasFailed = entry.hasFailed || hasFailed
    for release in releases { release.resume() }
    releases = []
    guard entry.hasFailed, entry.userCount == 0 else { return }
    entries[name] = nil
    await close(entry.opening)
  }

  /// Closes the file whose last use is longest ago, if as many are open as may be.
  ///
  /// If all are in use, tasks that only wait for commits give up their place.
  private func makeRoom() async throws(SyncRequestError) {
    while entries.count >= maxOpenCount {
      if let (name, entry) = oldest(where: { $0.userCount == 0 }) {
        entries[name] = nil
        await close(entry.opening)
      } else if let (_, entry) = oldest(where: {
        $0.userCount == $0.followers.count && !$0.isLeaving
      }) {
        entry.isLeaving = true
        for follower in entry.followers.values { follower.cancel() }
        await nextRelease()
      } else if entries.values.contains(where: \.isLeaving) {
        await nextRelease()
      } else {
        metrics.count(.spacesBusy)
        throw SyncRequestError(
          .unavailable, "the server uses \(maxOpenCount) spaces, the most at a time; try again",
          retryAfter: .seconds(1))
      }
    }
  }

  /// The space that a condition holds for, whose last use is longest ago.
  private func oldest(where condition: (Entry) -> Bool) -> (name: String, entry: Entry)? {
    let oldest = entries.filter { condition($0.value) }
      .min { $0.value.lastUse < $1.value.lastUse }
    return oldest.map { ($0.key, $0.value) }
  }

  private func nextRelease() async { await withCheckedContinuation { releases.append($0) } }

  private func close(_ opening: Task<SQLiteSpaceStore, any Error>) async {
    if let store = try? await opening.value { await store.close() }
    metrics.count(.spacesClosed)
  }

  /// Closes all files, and releases the directory.
  package func close() async {
    let all = entries.values.map(\.opening)
    entries = [:]
    for opening in all { await close(opening) }
    lock = nil
  }
}

extension stat {
  /// The time of the last change, in seconds since 1970.
  fileprivate var modificationSeconds: Double {
    Double(modificationTime.tv_sec) + Double(modificationTime.tv_nsec) / 1e9
  }
}

extension SyncRequestError {
  /// The refusal for a space that does not exist, or whose existence the client may not know.
  package static func unknownSpace(_ name: String) -> SyncRequestError {
    SyncRequestError(
      .unknownSpace,
      "there is no space \(name) that this client may read; check its name and the access token")
  }
}
