import TandemRecords
import TandemSpace
import TandemSync
import TestPostgreSQL
import Testing

@testable import TandemPostgreSQL

@Suite("Connections with PostgreSQL", .timeLimit(.minutes(20))) struct PostgreSQLConnectionTests {
  @Test(
    "Commits are durable and end in time whatever a role and a database set, also behind a pooler",
    arguments: [
      ("off", "on"), ("local", "on"), ("remote_write", "on"), ("remote_apply", "remote_apply"),
    ], [false, true])
  func settings(levels: (set: String, used: String), isPooled: Bool) async throws {
    let cluster = try TestCluster.shared.get()
    let address = try cluster.makeDatabase()
    let name = String(address.split(separator: "=").last ?? "")
    let proxy = try TestProxy(to: cluster.socket, isPooler: isPooled)
    defer { proxy.close() }
    try cluster.run(
      """
      ALTER ROLE tandem IN DATABASE \(name) SET synchronous_commit = \(levels.set);
      ALTER DATABASE \(name) SET statement_timeout = '1h';
      ALTER DATABASE \(name) SET lock_timeout = '1h';
      ALTER DATABASE \(name) SET idle_in_transaction_session_timeout = '1h';
      """, at: address)
    let node = try await Node(cluster.address(of: name, through: proxy.folder))
    #expect(try await node.database.run { $0.isPooled } == isPooled)
    try cluster.run(
      """
      CREATE TABLE seen (settings text);
      CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          INSERT INTO seen SELECT concat_ws(
            ' ', current_setting('synchronous_commit'), current_setting('statement_timeout'),
            current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout'));
          RETURN new;
        END $$;
      CREATE TRIGGER seeing BEFORE INSERT ON tandem.record FOR EACH ROW EXECUTE FUNCTION see();
      """, at: address)
    var replica = Replica(seed: 1)
    let head = try await node.store.state().head
    _ = try await node.store.commit(replica.commit(head, [change(1, .insert(["a": 1]))])).accepted()
    let seen = try await node.database.rows(PostgreSQLQuery("SELECT settings FROM seen"))
    #expect(seen == [[.text("\(levels.used) 30s 10s 1min")]])
    await node.close()
  }
}
