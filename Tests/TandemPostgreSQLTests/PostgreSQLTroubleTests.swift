import Dispatch
import TandemRecords
import TandemSpace
import TandemSync
import TestPostgreSQL
import Testing

@testable import TandemPostgreSQL

@Suite("Troubles of PostgreSQL", .timeLimit(.minutes(20))) struct PostgreSQLTroubleTests {
  @Test(
    "A commit that the server cannot store now is answered by 503, and succeeds later",
    arguments: [
      "TRIGGER failing BEFORE INSERT ON tandem.record",
      // At the end of the transaction.
      "CONSTRAINT TRIGGER failing AFTER INSERT ON tandem.record DEFERRABLE INITIALLY DEFERRED",
    ])
  func passingErrors(trigger: String) async throws {
    let cluster = try TestCluster.shared.get()
    let address = try cluster.makeDatabase()
    let node = try await Node(address)
    try cluster.run(
      """
      CREATE TABLE trouble (state text);
      CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE found text := (SELECT state FROM trouble);
        BEGIN
          IF found <> '' THEN RAISE 'failed' USING ERRCODE = found; END IF;
          RETURN new;
        END $$;
      CREATE \(trigger) FOR EACH ROW EXECUTE FUNCTION fail();
      INSERT INTO trouble VALUES ('');
      """, at: address)
    var replica = Replica(seed: 1)
    var head = try await node.store.state().head
    // A full disk, no memory, a statement and a lock that took too long, a deadlock, a server that became a standby.
    let states = ["53100", "53200", "57014", "55P03", "40P01", "25006"]
    for (round, state) in states.enumerated() {
      try cluster.run("UPDATE trouble SET state = '\(state)'", at: address)
      let commit = replica.commit(head, [change(round, .insert(["a": 1]))])
      let refusal = await #expect(throws: SyncRequestError.self) {
        try await node.store.commit(commit)
      }
      #expect(refusal?.code == .unavailable && refusal?.retryAfter != nil, "\(state)")
      // Nothing of it is there.
      #expect(try await node.store.state().head == head)
      try cluster.run("UPDATE trouble SET state = ''", at: address)
      head = try await node.store.commit(commit).accepted()
    }
    #expect(head.version == states.count)
    await node.close()
  }

  @Test("A commit to a space that another connection locks is answered by 503, and succeeds later")
  func lockedSpace() async throws {
    let address = try TestCluster.shared.get().makeDatabase()
    let node = try await Node(address)
    var replica = Replica(seed: 1)
    let commit = replica.commit(
      try await node.store.state().head, [change(1, .insert(["a": 1]))])
    let other = try PostgreSQLConnection(address: address)
    try other.exchange([
      PostgreSQLQuery("BEGIN"), PostgreSQLQuery("SELECT id FROM tandem.space FOR UPDATE"),
    ])
    let refusal = await #expect(throws: SyncRequestError.self) {
      try await node.store.commit(commit)
    }
    #expect(refusal?.code == .unavailable && refusal?.retryAfter != nil)
    try other.exchange([PostgreSQLQuery("ROLLBACK")])
    #expect(try await node.store.commit(commit).accepted().version == 1)
    await node.close()
  }

  @Test("A start says why it cannot use the database")
  func refusedStarts() async throws {
    let cluster = try TestCluster.shared.get()
    let address = try cluster.makeDatabase()
    let empty = try cluster.makeDatabase()
    let foreign = try cluster.makeDatabase()
    let name = String(address.split(separator: "=").last ?? "")
    try cluster.run(PostgreSQLSchema.sql, at: address)
    try cluster.run("CREATE SCHEMA tandem; CREATE TABLE tandem.space (other text)", at: foreign)
    try cluster.run(
      """
      CREATE ROLE guest_\(name) LOGIN;
      CREATE ROLE late_\(name) LOGIN CONNECTION LIMIT 0;
      CREATE ROLE reader_\(name) LOGIN;
      ALTER ROLE reader_\(name) SET default_transaction_read_only = on;
      CREATE ROLE locked_\(name) LOGIN PASSWORD 'right';
      DO $$ BEGIN
        EXECUTE format(
          'COPY (VALUES (''local all locked_\(name) scram-sha-256''), (''local all all trust'')) TO %L',
          current_setting('hba_file'));
      END $$;
      """, at: address)
    try cluster.run("SELECT FROM pg_reload_conf()", at: address)
    func user(_ role: String) -> String {
      address.replacing("user=tandem", with: "user=\(role)_\(name)")
    }
    for (address, creates, code, part) in [
      (user("guest"), true, PostgreSQLError.Code.schema, "let its owner grant USAGE"),
      (user("late"), true, .connection, "too many connections"),
      (user("reader"), true, .connection, "read-only"),
      (user("locked") + " password=wrong", true, .connection, "password authentication failed"),
      (empty, false, .schema, "the database has no schema tandem"),
      (foreign, true, .schema, "the schema tandem cannot be created"),
    ] {
      let error = await #expect(throws: PostgreSQLError.self) {
        try await PostgreSQLDatabase.open(address: address, creates: creates)
      }
      #expect(error?.code == code)
      #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }
  }

  @Test("A request beyond those that may wait is refused at once, and the others are answered")
  func fullPool() async throws {
    let database = try await PostgreSQLDatabase.open(
      address: try TestCluster.shared.get().makeDatabase(), creates: true, maxConnectionCount: 1,
      maxWait: .seconds(3_600))
    let gate = DispatchSemaphore(value: 0)
    let (held, hold) = AsyncStream<Void>.makeStream()
    let holder = Task {
      try await database.run { _ in
        hold.finish()
        gate.wait()
      }
    }
    for await _ in held {}
    let answers = await withTaskGroup(of: SyncRequestError.Code?.self) { group in
      for _ in 0...PostgreSQLDatabase.maxWaitingCount {
        group.addTask {
          do {
            _ = try await PostgreSQLSpaceStore.names(database)
            return nil
          } catch {
            return (error as? SyncRequestError)?.code ?? .malformed
          }
        }
      }
      let first = await group.next()
      gate.signal()
      return await group.reduce(into: [first]) { $0.append($1) }
    }
    try await holder.value
    #expect(answers.first == .unavailable)
    #expect(answers.dropFirst().allSatisfy { $0 == .some(nil) })
    await database.close()
  }

  @Test("A request that waits for a connection too long is refused, and gives up its place")
  func longWait() async throws {
    let database = try await PostgreSQLDatabase.open(
      address: try TestCluster.shared.get().makeDatabase(), creates: true, maxConnectionCount: 1,
      maxWait: .milliseconds(1))
    let gate = DispatchSemaphore(value: 0)
    let (held, hold) = AsyncStream<Void>.makeStream()
    let holder = Task {
      try await database.run { _ in
        hold.finish()
        gate.wait()
      }
    }
    for await _ in held {}
    let refusal = await #expect(throws: SyncRequestError.self) {
      try await PostgreSQLSpaceStore.names(database)
    }
    #expect(refusal?.code == .unavailable && refusal?.retryAfter != nil)
    gate.signal()
    try await holder.value
    // The connection is given to nobody who has left.
    #expect(try await PostgreSQLSpaceStore.names(database) == [])
    await database.close()
  }

  @Test("A start that waits for the server says so")
  func patience() async throws {
    let proxy = try TestProxy(to: try TestCluster.shared.get().socket)
    defer { proxy.close() }
    proxy.stall()
    let (messages, log) = AsyncStream<String>.makeStream()
    let address = try TestCluster.shared.get().address(through: proxy.folder)
    let start = Task {
      try await PostgreSQLDatabase.open(address: address, creates: true, patience: .zero) {
        log.yield($0)
      }
    }
    var iterator = messages.makeAsyncIterator()
    let message = await iterator.next()
    #expect(message?.contains("synchronous_standby_names") == true)
    start.cancel()
    await #expect(throws: CancellationError.self) { try await start.value }
  }
}
