import Foundation
import Tandem
import TestFolder
import TestTool
import Testing

@Suite("Limits of tandem serve, with spaces in files and in a database", .timeLimit(.minutes(20)))
struct ServeLimitTests: ShellSuite {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test(
    "Options limit the spaces, their records and bytes, and the requests of clients behind a proxy",
    arguments: [false, true])
  func limits(isDatabase: Bool) async throws {
    let store = try ServedStore(isDatabase: isDatabase, folder)
    let (ann, ada) = (
      try await store.makeToken("ann", "--members --create 'ann-*'"),
      try await store.makeToken("ada", "--space '*' --write")
    )
    try await store.start([
      "--max-spaces", "2", "--max-account-spaces", "1", "--max-space-records", "2",
      "--max-space-bytes", "1k", "--rate", "5", "--max-failures", "2", "--ban-time", "4321",
      "--trusted-proxies", "127.0.0.1",
    ])
    func create(_ space: String, _ secret: String) async throws -> (status: Int, text: String) {
      try await answer(
        "\(store.url)/v1/spaces/\(space)/tables", secret: secret,
        body: #"[{"name":"t","key":["id"],"columns":["a"],"granularity":"field"}]"#)
    }
    #expect(try await create("ann-1", ann).status == 200)
    let second = try await create("ann-2", ann)
    #expect(second.status == 413 && second.text.contains("has created 1 spaces"), "\(second.text)")
    try folder.write(ada, to: "secret")
    try await shell(
      """
      chmod 600 secret
      sqlite3 a.db "CREATE TABLE t (id TEXT PRIMARY KEY, a TEXT); INSERT INTO t VALUES (1, 'a'), (2, 'b')"
      $tandem attach a.db --server \(store.url) --space notes --table t --token-file secret &&
      $tandem sync a.db
      """)
    let third = try await create("more", ada)
    #expect(
      third.status == 413 && third.text.contains("the server has 2 spaces"), "\(third.text)")
    for (change, status, part) in [
      ("INSERT INTO t VALUES (3, 'c')", 1, "may have 2 records: it has 2, and would have 3"),
      ("DELETE FROM t WHERE id = '2'", 0, "in step at revision 2"),
      ("UPDATE t SET a = hex(zeroblob(512)) WHERE id = '1'", 1, "may have 1024 bytes: it has 4, "),
      ("DELETE FROM t WHERE id = '1'", 0, "in step at revision 3"),
    ] {
      let result = try await shell(
        "sqlite3 a.db \"\(change)\"; $tandem sync a.db", status: Int32(status))
      #expect(result.error.contains(part), "\(result.error)")
    }
    func list(from address: String, _ secret: String) async throws -> (status: Int, text: String) {
      try await answer(
        "\(store.url)/v1/spaces", secret: secret, fields: ["X-Forwarded-For": address])
    }
    for (address, secret, status) in [
      ("192.0.2.7", "wrong", 401), ("192.0.2.7", "wrong", 401), ("192.0.2.7", ada, 429),
      ("192.0.2.8", ada, 200),
    ] {
      #expect(try await list(from: address, secret).status == status, "\(address)")
    }
    // 50 requests at once are permitted, and five more in each second.
    var last = try await list(from: "192.0.2.9", ann)
    for _ in 0..<1_000 where last.status == 200 { last = try await list(from: "192.0.2.9", ann) }
    #expect(last.status == 429 && last.text.contains("too many requests came"), "\(last.text)")
    let log = await store.stop()
    #expect(
      log.count { $0.contains(" account=ada space=notes status=413 reason=overQuota ") } == 2)
    #expect(log.contains { $0.contains(" address=192.0.2.7 the address is banned for 4321 s") })
  }
}
