import Foundation
import TestFolder
import TestPostgreSQL
import Testing

@Suite("Servers of one PostgreSQL database", .timeLimit(.minutes(5)))
struct PostgreSQLServeTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// A server, and its address.
  private func serve(_ arguments: [String]) async throws -> (server: RunningTool, url: String) {
    let server = try RunningTool(
      ["serve", "--listen", "127.0.0.1:0", "--json"] + arguments)
    let line = try #require(await server.line())
    let url = try #require(line.split(separator: "\"").first { $0.hasPrefix("http://") })
    return (server, String(url))
  }

  @discardableResult
  private func shell(_ lines: String, status: Int32 = 0) async throws -> Tool.Result {
    let result = try await Tool.shell(lines, in: folder)
    #expect(result.status == status, "\(lines): \(result.output)\(result.error)")
    return result
  }

  @Test("copies at two servers come in step, and one hears what the other commits")
  func twoNodes() async throws {
    let address = try TestCluster.shared.get().makeDatabase()
    let (first, firstURL) = try await serve(["--store", address, "--create-store"])
    let (second, secondURL) = try await serve(["--store", address])
    try await shell(
      """
      sqlite3 a.db "CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT);
        INSERT INTO note VALUES ('plan', 'Plan')"
      sqlite3 b.db "CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT)"
      $tandem attach a.db --server \(firstURL) --space notes --table note && $tandem sync a.db &&
      $tandem attach b.db --server \(secondURL) --space notes --table note && $tandem sync b.db &&
      $tandem diff a.db b.db --table note
      """)
    let watch = try RunningTool(["sync", folder.path(of: "b.db"), "--watch", "--json", "-q"])
    while let line = await watch.line(), !line.contains(#""status":"upToDate""#) {}
    try await shell("sqlite3 a.db \"UPDATE note SET title = 'Big plan'\" && $tandem sync a.db")
    while let line = await watch.line(), !line.contains(#".2"}"#) {}
    #expect(try await shell("sqlite3 b.db 'SELECT title FROM note'").output == "Big plan\n")
    watch.signal(SIGINT)
    while await watch.line() != nil {}
    #expect(await watch.end() == 0)
    try await shell("$tandem diff a.db b.db --table note")
    for server in [first, second] {
      server.signal(SIGTERM)
      #expect(await server.end() == 0)
    }
  }

  @Test("a missing schema, a password in the command, and a server that is not there are refused")
  func refusals() async throws {
    let address = try TestCluster.shared.get().makeDatabase()
    for (arguments, part) in [
      (["--store", address], "--create-store"),
      (["--store", "postgresql://u:secret@h/d"], "PGPASSFILE"),
      (["--store", "host=/nowhere"], "PostgreSQL"), (["--store", "x=1"], "cannot be used"),
      (["--create-store"], "--store"), (["--store", address, "--data", "x"], "leave them out"),
    ] {
      let result = try await Tool.run(["serve"] + arguments)
      #expect(result.status == 1 || result.status == 2)
      #expect(result.error.contains(part), "\(result.error)")
    }
  }

  @Test("tandem store sql prints the schema that --create-store makes")
  func schema() async throws {
    let cluster = try TestCluster.shared.get()
    let address = try cluster.makeDatabase()
    let sql = try await Tool.run(["store", "sql"])
    #expect(sql.status == 0)
    try cluster.run(sql.output, at: address)
    let (server, _) = try await serve(["--store", address])
    server.signal(SIGTERM)
    #expect(await server.end() == 0)
  }
}
