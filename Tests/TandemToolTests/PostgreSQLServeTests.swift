import Foundation
import Tandem
import TestFolder
import TestPostgreSQL
import TestTool
import Testing

@Suite("Servers of one PostgreSQL database", .timeLimit(.minutes(20)))
struct PostgreSQLServeTests: ShellSuite {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// A server, and its address.
  private func serve(_ arguments: [String]) async throws -> (server: RunningTool, url: String) {
    let server = try RunningTool(
      ["serve", "--listen", "127.0.0.1:0", "--json"] + arguments)
    return (server, try await server.servedURL())
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

  @Test("all servers accept the tokens of the database, and a revocation ends streams at each")
  func tokens() async throws {
    let cluster = try TestCluster.shared.get()
    let address = try cluster.makeDatabase()
    let store = "--store '\(address)'"
    try await shell("$tandem token list \(store)", status: 1)
    let (early, earlyURL) = try await serve(["--store", address, "--create-store"])
    #expect(try await status(earlyURL, nil) == 200)
    let made = try await shell(
      "$tandem token create \(store) --account ada --space 'n*' --write --expires 90d --note phone")
    let secret = String(made.output.dropLast())
    // A server that began without tokens needs them from then on.
    while try await status(earlyURL, nil) == 200 {}
    #expect(try await status(earlyURL, secret) == 200)
    let (late, lateURL) = try await serve(["--store", address, "--log", "json"])
    try await shell(
      """
      printf %s \(secret) > secret; chmod 600 secret
      sqlite3 a.db "CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT)"
      $tandem attach a.db --server \(earlyURL) --space notes --table note --token-file secret &&
      $tandem sync a.db
      """)
    let program = """
      import sys, urllib.request as u
      for line in u.urlopen(u.Request(sys.argv[1], headers={"Authorization": "Bearer " + sys.argv[2]})):
        print(line.decode().strip())
      """
    var streams: [RunningTool] = []
    for url in [earlyURL, lateURL] {
      let stream = try RunningTool(
        ["python3", "-u", "-c", program, "\(url)/v1/spaces/notes/events", secret],
        executable: "/usr/bin/env")
      while let line = await stream.line(), line != ":" {}
      streams.append(stream)
    }
    let list = try await shell("$tandem token list \(store)")
    let id = String(list.output.prefix(12))
    #expect(list.output.hasPrefix("\(id) ada write n* expires=") && list.output.contains("# phone"))
    let rotated = try await shell("$tandem token rotate \(id) \(store) --expires 1d")
    let next = String(rotated.output.dropLast())
    while try await status(lateURL, next) != 200 {}
    try await shell("$tandem token revoke \(id) \(store)")
    for stream in streams {
      while await stream.line() != nil {}
      _ = await stream.end()
    }
    for url in [earlyURL, lateURL] {
      #expect(try await status(url, secret) == 401)
      #expect(try await status(url, next) == 200)
    }
    // The last one was revoked: now nobody is let in.
    try await shell("$tandem token revoke --account ada \(store)")
    while try await status(lateURL, next) != 401 {}
    while try await status(earlyURL, next) != 401 {}
    #expect(try await status(lateURL, nil) == 401)
    for server in [early, late] {
      server.signal(SIGTERM)
      #expect(await server.end() == 0)
    }
    try cluster.run(
      "DO $$ BEGIN ASSERT (SELECT count(*) FROM tandem.token) = 0; END $$", at: address)
  }

  private func status(_ url: String, _ secret: String?) async throws -> Int {
    try await answer("\(url)/v1/spaces", secret: secret).status
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
