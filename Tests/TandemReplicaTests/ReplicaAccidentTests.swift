import Foundation
import TandemDifferences
import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import TestFolder
import Testing

@Suite("Accidents: crashes, copies, restored backups")
struct ReplicaAccidentTests {
  static let schema = ["CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, body TEXT)"]
  static let tables = [AttachedTable("note")]
  static let query = "SELECT * FROM note ORDER BY id"

  let folder: TemporaryFolder
  let space: TestSpace

  init() throws {
    folder = try TemporaryFolder()
    space = try TestSpace()
  }

  private func replica(_ seed: UInt64, path: String = ":memory:") throws -> TestReplica {
    try TestReplica(seed: seed, Self.schema, tables: Self.tables, space: space, path: path)
  }

  /// A copy of a replica's file, as a backup has it.
  private func copy(_ replica: TestReplica, to name: String, seed: UInt64) throws -> TestReplica {
    let path = folder.path(of: name)
    try replica.database.withWriter { try $0.execute("VACUUM INTO ?", .text(path)) }
    return try TestReplica(seed: seed, path: path)
  }

  @Test("A crash between any two steps changes nothing: the file is opened again each time")
  func crashes() throws {
    let path = folder.path(of: "a.db")
    let b = try replica(2)
    do {
      let a = try replica(1, path: path)
      try a.execute("INSERT INTO note VALUES ('a', 'of a', NULL)")
      try a.database.close()
    }
    try b.execute("INSERT INTO note VALUES ('b', 'of b', NULL)")
    try b.sync(space)
    var count = 0
    var isDone = false
    while !isDone, count < 30 {
      count += 1
      let a = try TestReplica(seed: UInt64(100 + count), path: path)
      a.maxPageChangeCount = 1
      let summary = try a.write { try $0.summary() }
      if summary.sync.outbox != nil {
        let bytes = try #require(try a.outbox())
        let outcome = try space.push(bytes)
        // The first answer is lost.
        if count % 2 == 0 { try a.settle(outcome, bytes) }
      } else if summary.state.pullNeed != .none {
        if try a.pullPage(space) { try a.apply() }
      } else {
        isDone = try a.freeze() == nil
      }
      try a.database.close()
    }
    let a = try TestReplica(seed: 999, path: path)
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [["a", "of a", .null], ["b", "of b", .null]])
    #expect(try a.conflicts().isEmpty)
  }

  @Test("A file that has taken the history for lost recovers if the space has it after all")
  func mistakenLoss() throws {
    let (a, b) = (try replica(1), try replica(2))
    try a.execute("INSERT INTO note VALUES ('n', 'title', 'body')")
    try converge([a, b], space)
    let other = SyncToken.random(using: &a.random)
    try a.execute("UPDATE tandem_state SET pull = 'history', sequence = 0, replica = '\(other)'")
    try a.execute("UPDATE note SET title = 'edited'")
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [["n", "edited", "body"]])
    #expect(try a.conflicts().isEmpty)
  }

  @Test("A copied file gets an identity of its own, and neither copy loses an edit")
  func copies() throws {
    let a = try replica(1, path: folder.path(of: "a.db"))
    try a.execute("INSERT INTO note VALUES ('n', 'title', 'body')")
    try a.sync(space)
    let copy = try copy(a, to: "copy.db", seed: 7)
    try a.execute("UPDATE note SET title = 'of a'")
    try copy.execute("UPDATE note SET body = 'of the copy'")
    try copy.execute("INSERT INTO note VALUES ('c', 'also', NULL)")
    try converge([a, copy], space)
    #expect(try a.state.replica != copy.state.replica)
    try expectEqualRows(
      [a, copy], Self.query, [["c", "also", .null], ["n", "of a", "of the copy"]])
  }

  @Test("A file restored from a backup keeps what the space accepted, and its edits since [commit]")
  func restoredFile() throws {
    let a = try replica(1, path: folder.path(of: "a.db"))
    try a.execute("INSERT INTO note VALUES ('n', 'title', 'body')")
    try a.sync(space)
    let backup = try copy(a, to: "backup.db", seed: 7)
    try a.execute("UPDATE note SET title = 'accepted'")
    try a.sync(space)
    // The backup writes something else under the sequence that the space already has.
    try backup.execute("INSERT INTO note VALUES ('m', 'later', NULL)")
    let bytes = try #require(try backup.freeze())
    let outcome = try space.push(bytes)
    guard case .sequence = outcome else {
      Issue.record("\(outcome)")
      return
    }
    try backup.settle(outcome, bytes)
    try converge([backup], space)
    try expectEqualRows([backup], Self.query, [["m", "later", .null], ["n", "accepted", "body"]])
  }

  @Test("A file restored with a commit in its outbox learns that the space accepted it [fate]")
  func restoredOutbox() throws {
    let a = try replica(1, path: folder.path(of: "a.db"))
    try a.execute("INSERT INTO note VALUES ('n', 'title', 'body')")
    try a.sync(space)
    try a.execute("UPDATE note SET title = 'sent'")
    let bytes = try #require(try a.freeze())
    let backup = try copy(a, to: "backup.db", seed: 7)
    try a.settle(try space.push(bytes), bytes)
    try a.execute("UPDATE note SET title = 'sent', body = 'and more'")
    try a.sync(space)
    try backup.execute("UPDATE note SET title = 'later'")
    try converge([backup], space)
    try expectEqualRows([backup], Self.query, [["n", "later", "and more"]])
    #expect(try backup.conflicts().isEmpty)
  }

  @Test("After the horizon has passed, deletions are found by comparing everything")
  func horizon() throws {
    let (a, b) = (try replica(1), try replica(2))
    try a.execute("INSERT INTO note VALUES ('n', 't', 'b'), ('m', 't', 'b'), ('o', 't', 'b')")
    try converge([a, b], space)
    try a.execute("DELETE FROM note WHERE id IN ('n', 'o')")
    try a.execute("UPDATE note SET title = 'a' WHERE id = 'm'")
    try a.sync(space)
    try space.forgetHistory()
    try b.execute("UPDATE note SET body = 'edited' WHERE id IN ('m', 'o')")
    try b.execute("INSERT INTO note VALUES ('new', 't', 'b')")
    try converge([b, a], space)
    try expectEqualRows(
      [a, b], Self.query,
      [["m", "a", "edited"], ["new", "t", "b"], ["o", "t", "edited"]])
    #expect(try b.conflicts().map(\.kind) == [.editDelete])
  }

  @Test("A space that lost its last commits gets them back, or they are recorded [mark]")
  func lostHistory() throws {
    let (a, b) = (try replica(1), try replica(2))
    try a.execute("INSERT INTO note VALUES ('n', 'title', 'body')")
    try converge([a, b], space)
    let backup = try space.backup()
    try a.execute("UPDATE note SET title = 'newer'")
    try a.execute("INSERT INTO note VALUES ('m', 'newer', NULL)")
    try converge([a, b], space)
    try space.restore(backup)
    // The space moves on: another commit has the version that both files know.
    let c = try replica(3)
    try c.execute("INSERT INTO note VALUES ('c', 'of c', NULL)")
    try c.sync(space)
    for replica in [a, b] {
      #expect(throws: ReplicaError.self) { try replica.sync(space) }
      #expect(try replica.state.pullNeed == .history)
      replica.decision = .union
    }
    try converge([a, b, c], space)
    let rows = try a.rows(Self.query)
    try expectEqualRows([a, b, c], Self.query)
    #expect(rows.map { $0[0] } == ["c", "m", "n"])
    // Both versions of the note that differs are in the record.
    let conflict = try #require(try a.conflicts().first { $0.key.id == ["n"] })
    #expect(conflict.kind == .addAdd)
    #expect(conflict.local?["title"] == "newer" && conflict.remote?["title"] == "title")
  }

  @Test("A loss of history is in the file before anything follows from it [durable]")
  func writtenLoss() throws {
    let path = folder.path(of: "a.db")
    let a = try replica(1, path: path)
    try a.execute("INSERT INTO note VALUES ('n', 'title', 'body')")
    try a.sync(space)
    try space.startNewHistory()
    #expect(try !a.pullPage(space))
    try a.database.close()
    // The program has ended before the application decided.
    let later = try TestReplica(seed: 7, path: path)
    #expect(try later.state.pullNeed == .epoch)
    #expect(throws: ReplicaError.self) { try later.sync(space) }
    later.decision = .union
    try converge([later], space)
    try expectEqualRows([later], Self.query, [["n", "title", "body"]])
    #expect(try later.conflicts().isEmpty)
  }

  @Test("A space that lost a commit which the file knows only by its outcome is found out")
  func lostOutcome() throws {
    let (a, b) = (try replica(1), try replica(2))
    try a.execute("INSERT INTO note VALUES ('n', 'title', 'body')")
    try converge([a, b], space)
    let backup = try space.backup()
    try b.execute("UPDATE note SET body = 'of b'")
    try b.sync(space)
    // The file stays at its revision, because another commit came between.
    try a.execute("UPDATE note SET title = 'accepted'")
    let bytes = try #require(try a.freeze())
    try a.settle(try space.push(bytes), bytes)
    #expect(try a.state.pullNeed == .changes)
    try space.restore(backup)
    try a.pull(space)
    #expect(try a.state.pullNeed == .history)
    a.decision = .adoptLocal
    b.decision = .union
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT title FROM note", [["accepted"]])
    #expect(try b.conflicts().contains { $0.local?["body"] == "of b" })
  }

  @Test(
    "A pull of everything asks for a decision if the space was restored meanwhile",
    arguments: [
      "ALTER TABLE note ADD COLUMN extra TEXT", "UPDATE tandem_state SET pull = 'repair'",
      "UPDATE tandem_state SET pull = 'horizon'",
    ])
  func restoredBeforeEverything(cause: String) throws {
    let (a, b) = (try replica(1), try replica(2))
    try b.execute("INSERT INTO note VALUES ('m', 't', 'b')")
    try converge([b, a], space)
    let backup = try space.backup()
    try b.execute("INSERT INTO note VALUES ('new', 't', 'b')")
    try converge([b, a], space)
    try space.restore(backup)
    // It has sent nothing that the space could lack.
    try a.execute(cause)
    #expect(throws: ReplicaError.self) { try a.sync(space) }
    #expect(try a.state.pullNeed == .history)
    #expect(try a.rows("SELECT id FROM note ORDER BY id") == [["m"], ["new"]])
    a.decision = .union
    try converge([a], space)
    #expect(try space.records().count == 2)
  }

  @Test(
    "The application decides about a new history, and the versions that lose are recorded [record]",
    arguments: [
      (
        .union, ["edited", "gone", "ours", "same", "theirs"], ["remote", "b"],
        [["edited"]]
      ),
      (
        .adoptRemote, ["edited", "same", "theirs"], ["remote", "b"],
        [["edited"], ["gone"], ["ours"]]
      ),
      (
        .adoptLocal, ["edited", "gone", "ours", "same"], ["t", "local"],
        [["edited"], ["theirs"]]
      ),
    ] as [(EpochPolicy.Decision, [FieldValue], [FieldValue], Set<[FieldValue]>)])
  func epoch(
    decision: EpochPolicy.Decision, ids: [FieldValue], edited: [FieldValue],
    conflicts: Set<[FieldValue]>
  ) throws {
    let a = try replica(1)
    try a.execute(
      "INSERT INTO note VALUES ('same', 't', 'b'), ('edited', 't', 'b'), ('gone', 1, 1)")
    try a.sync(space)
    // The same records in a space of another history, which has changed since.
    let c = try replica(3)
    try c.sync(space)
    try space.startNewHistory()
    c.decision = .adoptRemote
    try c.sync(space)
    try c.execute("UPDATE note SET title = 'remote' WHERE id = 'edited'")
    try c.execute("DELETE FROM note WHERE id = 'gone'")
    try c.execute("INSERT INTO note VALUES ('theirs', 't', 'b')")
    try c.sync(space)
    try a.execute("UPDATE note SET body = 'local' WHERE id = 'edited'")
    try a.execute("INSERT INTO note VALUES ('ours', 't', 'b')")
    a.decision = decision
    try converge([a, c], space)
    try expectEqualRows([a, c], Self.query)
    #expect(try a.rows("SELECT id FROM note ORDER BY id").map { $0[0] } == ids)
    #expect(try a.rows("SELECT title, body FROM note WHERE id = 'edited'") == [edited])
    #expect(Set(try a.conflicts().map(\.key.id)) == conflicts)
    let conflict = try #require(try a.conflicts().first { $0.key.id == ["edited"] })
    #expect(conflict.local?["body"] == "local" && conflict.remote?["title"] == "remote")
  }

  @Test(
    "A change that bypassed the triggers is found by the digest; the space's version wins [record]")
  func repair() throws {
    let (a, b) = (try replica(1), try replica(2))
    try a.execute("INSERT INTO note VALUES ('n', 'title', 'body'), ('m', 'title', 'body')")
    try converge([a, b], space)
    try a.executeUnnoticed(
      "UPDATE note SET title = 'secret' WHERE id = 'n'", "DELETE FROM note WHERE id = 'm'",
      "INSERT INTO note VALUES ('o', 'secret', NULL)")
    #expect(try a.read { try $0.summary().isUpToDate })
    #expect(try !a.write { try $0.verify() })
    try a.execute("UPDATE note SET body = 'edited' WHERE id = 'n'")
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT id FROM note ORDER BY id", [["m"], ["n"]])
    let recorded = try a.conflicts().filter { $0.local?["title"] == "secret" }
    #expect(Set(recorded.map(\.key.id)).isSuperset(of: [["o"]]))
    #expect(try a.write { try $0.verify() })
  }

  @Test("A refused commit goes out of its rows, under later edits, and is noted [revert]")
  func refused() throws {
    let a = try replica(1)
    try a.execute("INSERT INTO note VALUES ('n', 'title', 'body'), ('m', 'title', 'body')")
    try a.sync(space)
    try a.execute("UPDATE note SET title = 'refused', body = 'refused' WHERE id = 'n'")
    try a.execute("INSERT INTO note VALUES ('new', 'refused', NULL)")
    try a.execute("DELETE FROM note WHERE id = 'm'")
    let bytes = try #require(try a.freeze())
    try a.execute("UPDATE note SET body = 'later' WHERE id = 'n'")
    let keys = ["n", "new", "m"].map { SyncKey(table: "note", id: [.text($0)]) }
    // The space consumes the sequence with another refused commit.
    let commit = try SyncMessageReader().commit(bytes)
    try a.settle(
      .refused(keys.map { SyncObjection(key: $0, reason: .tooLarge) }), bytes)
    #expect(try a.state.sequence == commit.sequence)
    #expect(
      try a.rows(Self.query) == [["m", "title", "body"], ["n", "title", "later"]])
    #expect(try a.rows("SELECT reason FROM tandem_kept WHERE kind = 'edit'").count == 3)
  }

  @Test("Pages that another process has made stale are not stored [overtaken]")
  func stalePages() throws {
    let a = try replica(1)
    try a.sync(space)
    let pull = try request(of: a)
    guard case .page(let page) = try space.pull(pull) else {
      Issue.record("no page")
      return
    }
    try a.execute("INSERT INTO note VALUES ('n', 1, 1)")
    // While a commit waits for its outcome, nothing is pulled.
    let bytes = try #require(try a.freeze())
    #expect(try !a.write { try $0.stage(page, for: pull) })
    try a.settle(try space.push(bytes), bytes)
    #expect(try !a.write { try $0.stage(page, for: pull) })
  }

  @Test(
    "The last page of a pull is applied when it arrives, with the pages that were stored before")
  func lastPage() throws {
    let (a, b) = (try replica(1), try replica(2))
    try a.execute("INSERT INTO note VALUES ('n', 1, 1), ('m', 2, 2), ('o', 3, 3)")
    try a.sync(space)
    for (position, isLast) in [false, false, true].enumerated() {
      let pull = try request(of: b).limited(to: 1)
      guard case .page(let page) = try space.pull(pull) else {
        Issue.record("no page")
        return
      }
      #expect((page.next == nil) == isLast)
      let summary = try b.write {
        try $0.perform(.stage(page, for: pull), ReplicaMerging(), using: &b.random)
      }
      #expect((summary.pull == .none) == isLast)
      #expect(try b.rows("SELECT count(*) FROM note") == [[isLast ? 3 : 0]])
      let storedCount = FieldValue.integer(isLast ? 0 : Int64(position) + 1)
      #expect(try b.rows("SELECT count(*) FROM tandem_staged") == [[storedCount]])
    }
    #expect(try b.read { try $0.summary().isUpToDate })
  }

  @Test("A page that does not follow the last one is not stored")
  func foreignPage() throws {
    let (a, b) = (try replica(1), try replica(2))
    try a.execute("INSERT INTO note VALUES ('n', 1, 1), ('m', 2, 2), ('o', 3, 3)")
    try a.sync(space)
    // Another process has sent the second request already.
    let first = try request(of: b).limited(to: 1)
    guard case .page(let page) = try space.pull(first) else {
      Issue.record("no page")
      return
    }
    let second = SyncPull(
      replica: first.replica, since: first.since, cursor: page.next, maxChangeCount: 1,
      knownSequence: first.knownSequence)
    guard case .page(let next) = try space.pull(second) else {
      Issue.record("no page")
      return
    }
    #expect(try !b.write { try $0.stage(next, for: second) })
    #expect(try b.write { try $0.stage(page, for: first) })
    #expect(try b.write { try $0.stage(next, for: second) })
    try b.sync(space)
    #expect(try b.rows("SELECT count(*) FROM note") == [[3]])
  }

  @Test("The last page waits while the application has to decide")
  func undecided() throws {
    let (a, b) = (try replica(1), try replica(2))
    try converge([a, b], space)
    try space.startNewHistory()
    try b.lose(.epoch, for: try request(of: b))
    let pull = try request(of: b)
    guard case .page(let page) = try space.pull(pull) else {
      Issue.record("no page")
      return
    }
    let summary = try b.write {
      try $0.perform(.stage(page, for: pull), ReplicaMerging(), using: &b.random)
    }
    #expect(summary.pull == .staged)
    #expect(throws: ReplicaError.self) {
      try b.write { try $0.perform(.apply, ReplicaMerging(), using: &b.random) }
    }
    // Nothing was lost by the attempt.
    _ = try b.write {
      try $0.perform(.apply, ReplicaMerging(), decision: .union, using: &b.random)
    }
    #expect(try b.read { try $0.summary().isUpToDate })
  }

  @Test("A page from before a conflict, which another process brought, does not mean a loss")
  func lateStanding() throws {
    let (a, b) = (try replica(1), try replica(2))
    try a.execute("INSERT INTO note VALUES ('n', 1, 1)")
    try a.sync(space)
    try b.sync(space)
    let replica = try a.state.replica
    guard case .incomplete(let request) = try a.read({ try $0.staging() }),
      case .page(let page) = try space.pull(request)
    else {
      Issue.record("no page")
      return
    }
    try b.execute("UPDATE note SET title = 'b'")
    try b.sync(space)
    try a.execute("UPDATE note SET title = 'a'")
    let bytes = try #require(try a.freeze())
    try a.settle(try space.push(bytes), bytes)
    #expect(try !a.write { try $0.stage(page, for: request) })
    try a.sync(space)
    #expect(try a.state.replica == replica)
  }

  @Test("A page that is older than a commit of another process is no loss of history")
  func latePage() throws {
    let a = try replica(1)
    let b = try replica(2)
    try converge([a, b], space)
    let late = try request(of: a)
    guard case .page(let page) = try space.pull(late) else {
      Issue.record("no page")
      return
    }
    // Another process pulls, which brings nothing, and sends a commit. One of b comes between.
    try a.pull(space)
    try a.execute("INSERT INTO note VALUES ('a', 1, 1)")
    let bytes = try #require(try a.freeze())
    try b.execute("INSERT INTO note VALUES ('b', 1, 1)")
    try b.sync(space)
    try a.settle(try space.push(bytes), bytes)
    #expect(try a.state.revision == late.since)
    #expect(try !a.write { try $0.stage(page, for: late) })
    try converge([a, b], space)
    #expect(try a.state.pullNeed == .none)
    #expect(try a.rows("SELECT id FROM note ORDER BY id") == [["a"], ["b"]])
  }

  @Test("An answer that history was lost is of no use after another process has repaired the file")
  func lateLoss() throws {
    let a = try replica(1)
    try a.execute("INSERT INTO note VALUES ('a', 1, 1)")
    try a.sync(space)
    let late = try request(of: a)
    let other = try TestSpace()
    guard case .gone(let gone) = try other.pull(late) else {
      Issue.record("the space knows the revision of another one")
      return
    }
    // Another process gets the same answer, and decides.
    try a.lose(gone, for: late)
    #expect(try a.state.pullNeed.needsDecision)
    a.decision = .union
    try a.sync(other)
    let repaired = try a.state
    try a.lose(gone, for: late)
    #expect(try a.state.replica == repaired.replica && a.state.pullNeed == .changes)
    try a.sync(other)
    #expect(try a.state.revision == repaired.revision && a.conflicts().isEmpty)
  }

  /// The request that a file would make now.
  private func request(of file: TestReplica) throws -> SyncPull {
    let staging = try file.read { try $0.staging() }
    guard case .incomplete(let pull) = staging else { throw AllPagesAreThere() }
    return pull
  }
}

private struct AllPagesAreThere: Error {}
