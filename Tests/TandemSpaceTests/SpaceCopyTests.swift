import TandemRecords
import TandemSQLite
import TandemSync
import TestRandom
import Testing

@testable import TandemSpace

/// A space with constraints of all kinds, its replicas, and the copy that a follower has of it.
private final class FollowedSpace {
  private static let index = SpaceIndex(
    name: "one", sql: "CREATE UNIQUE INDEX one ON t (abs(n))",
    columns: [ComparedColumn("n", .binary, .integer)])
  private static let tables = [
    SpaceTable(
      name: "t", columns: ["a", "n", "parent"], keyColumns: ["id"], granularity: .field,
      constraints: [
        .unique([ComparedColumn("a", .nocase)]),
        .reference(["parent"], to: "p", [ComparedColumn("name")]), .index(index),
      ]),
    SpaceTable(
      name: "p", columns: ["name", "n"], keyColumns: ["id"], granularity: .record,
      isNumbered: true),
  ]

  let leader: TestSpace
  /// The file of the copy.
  let file: DatabaseConnection
  private var replicas: [TestReplica]
  private var generator: SplitMix64
  private var bases: [SpaceRevision] = []
  var pageSize = Int.max

  init(seed: Int) throws {
    generator = SplitMix64(seed: seed)
    leader = try TestSpace(seed: seed, tables: [])
    file = try DatabaseConnection(path: ":memory:")
    replicas = (0..<4).map { TestReplica(seed: 10 * seed + $0) }
    try declare(constraintCount: 0)
  }

  /// Declares the tables with the first constraints.
  func declare(constraintCount: Int) throws {
    var tables = Self.tables
    tables[0].constraints = Array(tables[0].constraints?.prefix(constraintCount) ?? [])
    tables[1].definitions = [SpaceColumn("name", type: "TEXT", isRequired: constraintCount > 1)]
    _ = try leader.run { space, _ in try space.declare(tables) }
  }

  private func random(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }

  private func change() -> SyncChange {
    guard random(4) > 0 else {
      let key = SyncKey(table: "p", id: [.integer(Int64(random(40)))])
      let fields: Record = ["name": .text("p\(random(4))")]
      return SyncChange(
        key: key, verb: [.insert(fields), .update(fields), .delete][random(3)], revives: true)
    }
    let number = Int64(random(20))
    var fields: Record = ["a": .text("a\(random(12))"), "n": .integer(number)]
    if random(3) == 0 { fields = ["parent": .text("p\(random(4))")] }
    let claims = [Self.index.sql: random(4) == 0 ? [] : [FieldValue.integer(number)]]
    let verb: SyncChange.Verb =
      switch random(6) {
      case 0, 1, 2: .insert(fields)
      case 3: .update(fields)
      // Only states a value.
      case 4: .update([:])
      default: .delete
      }
    return SyncChange(
      key: SyncKey(table: "t", id: [.text("k\(random(15))")]), verb: verb, claims: claims)
  }

  /// Makes a commit, which may be accepted, conflict, or be refused.
  func commit() throws {
    let place = random(replicas.count)
    bases.append(try leader.head)
    let base = random(6) == 0 ? bases[max(0, bases.count - 1 - random(4))] : bases[bases.count - 1]
    var commit = replicas[place].commit(base, (0...random(2)).map { _ in change() })
    if random(4) == 0 {
      let lost = SyncRecordState(
        key: SyncKey(table: "t", id: ["k1"]), version: base.version, fields: ["a": "lost"])
      commit = SyncCommit(
        replica: commit.replica, sequence: commit.sequence, id: commit.id, base: commit.base,
        changes: commit.changes, overruled: [lost, lost])
    }
    if case .gone = try leader.commit(commit, account: "ann") { replicas[place].sequence -= 1 }
    if random(9) == 0 {
      let (replica, name) = (replicas[place].id, ["", "desk", "phone"][random(3)])
      try leader.run { space, _ in try space.setName(name, of: replica) }
    }
  }

  /// All rows of a space that a copy has, in no order.
  func rows(_ space: SpaceTables) throws -> [String: Set<[FieldValue]>] {
    var rows: [String: Set<[FieldValue]>] = [:]
    for table in SpaceStoredTable.allCases where table != .part && table != .usage {
      try space.connection.forEachRow(of: table) { rows[table.rawValue, default: []].insert($0) }
    }
    return rows
  }

  /// The rows of the leader.
  func rows() throws -> [String: Set<[FieldValue]>] {
    try leader.run { space, _ in try rows(space) }
  }

  /// The rows that the copy would have if it was promoted now.
  func promotedRows() throws -> [String: Set<[FieldValue]>] {
    struct Undone: Error {}
    var rows: [String: Set<[FieldValue]>] = [:]
    do {
      try file.transaction {
        let space = SpaceTables(file)
        try space.promoteCopy()
        rows = try self.rows(space)
        throw Undone()
      }
    } catch is Undone {}
    return rows
  }

  var copy: SpaceCopy? { get throws { try file.transaction { try SpaceTables(file).copy() } } }

  /// All pages since a position. `between` runs after each page but the last.
  func pages(
    since: SpaceCopyPosition?, between: () throws -> Void = {}
  ) throws -> [[UInt8]] {
    leader.limits.maxPageChangeCount = pageSize
    defer { leader.limits.maxPageChangeCount = SyncLimits().maxPageChangeCount }
    var pages: [[UInt8]] = []
    var cursor: String?
    repeat {
      let answer = try leader.run { space, generator in
        try space.makeJournal(using: &generator)
        return try #require(try space.copyPage(since: since, cursor: cursor))
      }
      guard case .page(let page) = answer else { throw GoneInTest() }
      pages.append(page)
      cursor = try SpaceCopyHeader(ofPage: page).next
      if cursor != nil { try between() }
    } while cursor != nil
    return pages
  }

  /// Writes pages into the copy.
  func receive(
    _ pages: [[UInt8]], since: SpaceCopyPosition?, after former: SpaceRevision? = nil
  ) throws {
    let header = try SpaceCopyHeader(ofPage: pages[pages.count - 1])
    try file.transaction {
      var receiver = try SpaceCopyReceiver(
        SpaceTables(file), since: since, journal: header.position.journal)
      for page in pages { try receiver.add(page) }
      try receiver.finish(header, after: former)
    }
  }

  /// Writes what followed the copy, or the whole space, with these members.
  func receive(
    _ members: [SpaceMember]?, since: SpaceCopyPosition?, after former: SpaceRevision? = nil
  ) throws {
    var pages = try pages(since: since)
    if let members {
      pages[pages.count - 1] = try SpaceCopyHeader.adding(members, toLast: pages[pages.count - 1])
    }
    try receive(pages, since: since, after: former)
  }

  /// Brings the copy in step.
  func bring(between: () throws -> Void = {}) throws {
    let since = try copy?.position
    try receive(try pages(since: since, between: between), since: since)
  }
}

@Suite("Copies of a space on a server that follows")
struct SpaceCopyTests {
  @Test(
    "A copy that is brought in step again and again would be promoted with every row of its leader",
    arguments: 0..<12)
  func everyRow(seed: Int) throws {
    let space = try FollowedSpace(seed: seed)
    var generator = SplitMix64(seed: 1_000 + seed)
    var kinds: Set<String> = []
    for round in 0..<40 {
      if round % 8 == 5 { try space.declare(constraintCount: min(3, round / 8)) }
      for _ in 0..<Int.random(in: 0...6, using: &generator) { try space.commit() }
      space.pageSize = [Int.max, 1, 3, 20][round % 4]
      // Commits between two pages belong to the state of the last one.
      var rest = 5
      try space.bring {
        rest -= 1
        if rest > 0 { try space.commit() }
      }
      if round % 10 == 9 {
        let version = try space.leader.head.version - Int.random(in: 0...3, using: &generator)
        try space.leader.run { tables, _ in try tables.forget(before: version) }
        try space.bring()
      }
      #expect(try space.promotedRows() == space.rows(), "round \(round)")
      #expect(try space.copy?.position.head == space.leader.head)
      kinds.formUnion(try space.rows().keys)
    }
    #expect(try space.leader.head.version > 10)
    #expect(kinds.isSuperset(of: ["rule", "claim", "number", "overruled", "replica"]), "\(kinds)")
  }

  @Test("A page has only what was written since the position, however large the space is")
  func increments() throws {
    let space = try FollowedSpace(seed: 1)
    for _ in 0..<300 { try space.commit() }
    try space.bring()
    let whole = try space.pages(since: nil)[0]
    #expect(whole.count > 10_000)
    let position = try #require(try space.copy?.position)
    try space.commit()
    let lines = try space.pages(since: position)[0].split(separator: UInt8(ascii: "\n"))
    // The header, a version with its counts, at most four records with a claim each, a replica and its name, the numbers.
    #expect(lines.count <= 16, "\(lines.count)")
    #expect(lines.map(\.count).reduce(0, +) < 4_000)
  }

  @Test("No program reads or changes a copy before its promotion, and then it takes commits")
  func marked() throws {
    let space = try FollowedSpace(seed: 2)
    for _ in 0..<30 { try space.commit() }
    try space.bring()
    let file = space.file
    var replica = TestReplica(seed: 99)
    var generator = SplitMix64(seed: 3)
    let commit = replica.commit(
      try space.leader.head,
      [SyncChange(key: SyncKey(table: "p", id: [99]), verb: .insert(["n": 1]))])
    func answer() throws -> SyncOutcome {
      try file.transaction {
        try SpaceTables(file).commit(commit, at: 1, using: &generator)
      }
    }
    #expect(throws: SyncRequestError.self) { try answer() }
    #expect(throws: SyncRequestError.self) {
      try file.transaction { try SpaceTables(file).page(SyncPull(replica: nil, since: nil)) }
    }
    try file.transaction { try SpaceTables(file).promoteCopy() }
    let revision = try answer().accepted()
    #expect(revision.epoch == (try space.leader.head).epoch)
    #expect(revision.version == (try space.leader.head).version + 1)
    // The other history is noticed by both.
    var other = TestReplica(seed: 97)
    #expect(try space.leader.commit(other.commit(revision, [])) == .gone(.history))
    #expect(throws: SpaceCopyError.notACopy) {
      try file.transaction { try SpaceTables(file).promoteCopy() }
    }
  }

  @Test("Commits whose replies were lost get their outcomes from the promoted copy, once")
  func lostReplies() throws {
    let space = try FollowedSpace(seed: 4)
    var replica = TestReplica(seed: 98)
    let base = try space.leader.head
    let insertion = SyncChange(key: SyncKey(table: "p", id: [5]), verb: .insert(["n": 1]))
    let first = replica.commit(base, [insertion])
    let outcome = try space.leader.commit(first, account: "ann")
    try space.bring()
    let second = replica.commit(
      try outcome.accepted(), [SyncChange(key: insertion.key, verb: .update(["n": 2]))])
    _ = try space.leader.commit(second, account: "ann")
    let file = space.file
    var generator = SplitMix64(seed: 3)
    try file.transaction {
      let tables = SpaceTables(file)
      try tables.promoteCopy()
      func answer(_ commit: SyncCommit) throws -> SyncOutcome {
        try tables.commit(commit, account: "ann", at: 1, using: &generator)
      }
      #expect(try answer(first) == outcome)
      // It did not reach the copy: it is sent again, and applied once.
      let again = try answer(second)
      #expect(try again.accepted().version == base.version + 2)
      #expect(try answer(second) == again)
    }
  }

  @Test("A leader that forgot, went back, or began another history is noticed")
  func otherHistories() throws {
    let space = try FollowedSpace(seed: 5)
    for _ in 0..<20 { try space.commit() }
    try space.bring()
    let position = try #require(try space.copy?.position)
    for _ in 0..<5 { try space.commit() }
    func answer(_ position: SpaceCopyPosition) throws -> SyncGone? {
      try space.leader.run { tables, _ in
        guard case .gone(let reason)? = try tables.copyPage(since: position, cursor: nil) else {
          return nil
        }
        return reason
      }
    }
    let head = position.head
    let other = SpaceRevision(epoch: head.epoch, version: head.version, mark: head.mark &+ 1)
    func changed(_ head: SpaceRevision, entry: Int) -> SpaceCopyPosition {
      SpaceCopyPosition(
        head: head, journal: position.journal, entry: entry, schema: position.schema)
    }
    #expect(try answer(position) == nil)
    #expect(try answer(changed(other, entry: position.entry)) == .history)
    #expect(try answer(changed(head, entry: position.entry + 1_000)) == .history)
    // A whole copy of a history that lacks the former state is refused, and nothing is changed.
    #expect(throws: SpaceCopyError.lost) {
      try space.receive(try space.pages(since: nil), since: nil, after: other)
    }
    #expect(try space.copy?.position == position)
    try space.leader.run { tables, _ in try tables.forget(before: .max) }
    #expect(try answer(position) == .horizon)
    try space.receive(try space.pages(since: nil), since: nil, after: head)
    #expect(try space.promotedRows() == space.rows())
    try space.leader.run { tables, generator in try tables.startNewHistory(using: &generator) }
    #expect(try answer(try #require(try space.copy?.position)) == .epoch)
  }

  @Test("The place of each page is after that of the page before; no other cursor is taken for one")
  func places() throws {
    let space = try FollowedSpace(seed: 9)
    for count in 0..<4 { try space.declare(constraintCount: count) }
    for _ in 0..<60 { try space.commit() }
    space.pageSize = 5
    var commitCount = 0
    let pages = try space.pages(since: nil) {
      commitCount += 1
      if commitCount < 10 { try space.commit() }
    }
    let headers = try pages.map { try SpaceCopyHeader(ofPage: $0) }
    #expect(headers.count > 10)
    #expect(headers.last?.next == nil)
    var cursor: String?
    for header in headers.dropLast() {
      #expect(header.isBeyond(cursor))
      #expect(!header.isBeyond(header.next) && !header.isBeyond("00") && !header.isBeyond("x"))
      cursor = header.next
    }
    // Earlier ones are none after later ones, and the last page has none.
    for header in headers.dropLast(2) { #expect(!header.isBeyond(cursor)) }
    #expect(headers.last?.isBeyond(nil) == false)
  }

  @Test("A journal that was made anew replaces what the former one had told")
  func otherJournal() throws {
    let space = try FollowedSpace(seed: 6)
    for count in 0..<4 { try space.declare(constraintCount: count) }
    for _ in 0..<60 { try space.commit() }
    try space.bring()
    try space.leader.connection.execute("DROP TABLE touched")
    for _ in 0..<60 { try space.commit() }
    try space.leader.run { tables, _ in
      for replica in try tables.replicas(beginningWith: "") { try tables.setName("", of: replica) }
    }
    try space.bring()
    #expect(try space.promotedRows() == space.rows())
  }

  @Test("A copy takes its members along until it is promoted, and those of another history never")
  func members() throws {
    let space = try FollowedSpace(seed: 10)
    for _ in 0..<10 { try space.commit() }
    try space.bring()
    #expect(try space.copy?.members == nil)
    func list(_ count: Int) -> [SpaceMember] {
      (0..<count).map {
        SpaceMember(account: "a\(10_000 + $0)", role: $0 % 2 == 0 ? .owner : .reader)
      }
    }
    for members in [list(2), [], list(SpaceMember.maxCount), list(3)] {
      let position = try #require(try space.copy?.position)
      try space.receive(members, since: position)
      #expect(try space.copy?.members == members)
      // Without news, they stay.
      try space.commit()
      try space.bring()
      #expect(try space.copy?.members == members)
    }
    // A whole copy of the same history keeps them, and one of any other takes only those that come with it.
    let head = try #require(try space.copy?.position.head)
    try space.receive(nil, since: nil, after: head)
    #expect(try space.copy?.members == list(3))
    try space.receive(list(1), since: nil)
    #expect(try space.copy?.members == list(1))
    try space.receive(nil, since: nil)
    #expect(try space.copy?.members == nil)
    try space.receive(list(4), since: nil)
    try space.file.transaction {
      #expect(try SpaceTables(space.file).takeMembers() == list(4))
      try SpaceTables(space.file).promoteCopy()
    }
    #expect(try SpaceMember.taken(along: space.file) == nil)
  }

  @Test("Only the last page has members, and lists that no space has are refused")
  func foreignMembers() throws {
    let space = try FollowedSpace(seed: 11)
    for _ in 0..<20 { try space.commit() }
    space.pageSize = 5
    let pages = try space.pages(since: nil)
    let ann = SpaceMember(account: "ann", role: .owner)
    let first = try SpaceCopyHeader.adding([ann], toLast: pages[0])
    #expect(pages.count > 1 && first == pages[0])
    let page = try SpaceCopyHeader.adding([ann], toLast: pages[pages.count - 1])
    #expect(try SpaceCopyHeader(ofPage: page).members == [ann])
    #expect(page.filter { $0 == 10 } == pages[pages.count - 1].filter { $0 == 10 })
    let text = String(decoding: page, as: UTF8.self)
    let many = (0...SpaceMember.maxCount).map { "\"reader a\($0)\"" }.joined(separator: ",")
    for other in [
      #""members","king ann""#, #""members","owner""#, #""members","owner ann","reader ann""#,
      #""members","owner ann",1"#, #""others","owner ann""#, #""members",\#(many)"#,
    ] {
      let bytes = Array(text.replacing(#""members","owner ann""#, with: other).utf8)
      #expect(throws: SpaceCopyError.self, "\(other.prefix(40))") {
        try SpaceCopyHeader(ofPage: bytes)
      }
    }
  }

  @Test("A page with other bytes is refused as a whole, or is one of a space; nothing traps")
  func otherBytes() throws {
    let space = try FollowedSpace(seed: 7)
    for count in 0..<4 { try space.declare(constraintCount: count) }
    for _ in 0..<30 { try space.commit() }
    try space.bring()
    for _ in 0..<40 { try space.commit() }
    let since = try #require(try space.copy?.position)
    let page = try space.pages(since: since)[0]
    var generator = SplitMix64(seed: 8)
    let before = try space.promotedRows()
    var refusedCount = 0
    for _ in 0..<1_500 {
      var bytes = page
      for _ in 0...Int.random(in: 0...2, using: &generator) {
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: bytes[place] = UInt8.random(in: .min ... .max, using: &generator)
        case 1: bytes.remove(at: place)
        case 2: bytes.insert(UInt8.random(in: 32..<127, using: &generator), at: place)
        default: bytes.removeSubrange(place..<min(bytes.count, place + 200))
        }
      }
      struct Undone: Error {}
      do {
        let header = try SpaceCopyHeader(ofPage: bytes)
        try space.file.transaction {
          var receiver = try SpaceCopyReceiver(
            SpaceTables(space.file), since: since, journal: header.position.journal)
          try receiver.add(bytes)
          try receiver.finish(header, after: nil)
          // Whatever was accepted has a right digest.
          try SpaceTables(space.file).promoteCopy()
          throw Undone()
        }
      } catch is Undone {
      } catch {
        refusedCount += 1
      }
    }
    #expect(refusedCount > 700, "\(refusedCount)")
    #expect(try space.promotedRows() == before)
    // Rows that lead elsewhere.
    let text = String(decoding: page, as: UTF8.self)
    let lines = text.split(separator: "\n")
    let records = lines.filter { $0.hasPrefix(#"["record""#) }
    let history = lines.filter { $0.hasPrefix(#"["history""#) }
    #expect(!records.isEmpty && !history.isEmpty)
    guard !records.isEmpty, !history.isEmpty else { return }
    for (kind, error) in [(records, SpaceCopyError.differs), (history, nil)] {
      let other = Array(text.replacing("\(kind[0])\n", with: "").utf8)
      do {
        try space.receive([other], since: since)
        Issue.record("it was accepted")
      } catch let fault as SpaceCopyError {
        if let error { #expect(fault == error) }
      }
    }
    #expect(try space.promotedRows() == before)
  }
}
