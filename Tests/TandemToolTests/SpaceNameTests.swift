import Foundation
import Tandem
import TestFolder
import TestPostgreSQL
import TestTool
import Testing

@testable import TandemPostgreSQL

@Suite("tandem space rename, delete, export and import", .timeLimit(.minutes(20)))
struct SpaceNameTests: ShellSuite {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// A server with the space `notes`, and two files that are attached to it.
  private final class Spaces {
    /// The options that say where the spaces are.
    let place: [String]
    /// The same for the shell.
    var words: String { place.map { "'\($0)'" }.joined(separator: " ") }
    var port = "0"
    private var server: RunningTool?

    init(isDatabase: Bool, _ folder: TemporaryFolder) throws {
      guard isDatabase else {
        place = ["--data", folder.path(of: "spaces")]
        return
      }
      let address = try TestCluster.shared.get().makeDatabase()
      try PostgreSQLSchema.create(PostgreSQLConnection(address: address))
      place = ["--store", address]
    }

    func start() async throws {
      guard server == nil else { return }
      let server = try RunningTool(["serve", "--listen", "127.0.0.1:\(port)", "--json"] + place)
      port = String(try await server.servedURL().split(separator: ":").last ?? "")
      self.server = server
    }

    /// Stops the server, unless others can change its spaces meanwhile.
    func stop(evenOfDatabase: Bool = false) async {
      guard place[0] == "--data" || evenOfDatabase else { return }
      server?.signal(SIGTERM)
      _ = await server?.end()
      server = nil
    }

    func names() async throws -> String {
      try await answer("http://127.0.0.1:\(port)/v1/spaces").text
    }
  }

  private func makeSpaces(isDatabase: Bool) async throws -> Spaces {
    let spaces = try Spaces(isDatabase: isDatabase, folder)
    try await spaces.start()
    try await shell(
      """
      for f in a b; do sqlite3 $f.db "CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT)"; done
      sqlite3 a.db "INSERT INTO note VALUES ('plan', 'Plan')"
      for f in a b; do $tandem attach $f.db --server http://127.0.0.1:\(spaces.port) --space notes --table note -q &&
        $tandem sync $f.db -q || exit 9; done
      """)
    return spaces
  }

  /// Synchronizes a file until a server that runs has noticed what became of the space.
  private func refusal(of file: String, _ part: String) async throws {
    while true {
      let result = try await Tool.shell("$tandem sync \(file)", in: folder)
      if result.status == 0 { continue }
      return #expect(result.error.contains(part), "\(result)")
    }
  }

  @Test(
    "Files follow a space to its new name with their edits, and do not make the former one again",
    arguments: [false, true])
  func rename(isDatabase: Bool) async throws {
    let spaces = try await makeSpaces(isDatabase: isDatabase)
    let command = "$tandem space rename todo --space notes \(spaces.words)"
    if !isDatabase {
      let locked = try await shell("\(command) --confirm notes", status: 1)
      #expect(locked.error.contains("another server serves the directory"))
    }
    await spaces.stop()
    try await shell("sqlite3 a.db \"INSERT INTO note VALUES ('x', 'offline')\"")
    for confirmation in ["", "--confirm note", "--confirm todo"] {
      let refused = try await shell("\(command) \(confirmation) </dev/null", status: 2)
      #expect(refused.error.contains("--confirm notes"))
    }
    #expect(try await shell("\(command) --confirm notes").error.contains("is called todo now"))
    try await spaces.start()
    try await refusal(of: "a.db", "is called todo now")
    try await refusal(of: "b.db", "is called todo now")
    #expect(try await spaces.names() == #"{"spaces":[{"name":"todo","access":"write"}]}"#)
    try await shell(
      """
      for f in a b; do $tandem attach $f.db --server http://127.0.0.1:\(spaces.port) --space todo -q &&
        $tandem sync $f.db -q --verify || exit 9; done
      $tandem diff a.db b.db --table note && sqlite3 b.db "SELECT title FROM note WHERE id = 'x'" | grep offline
      """)
    // A name that a space has is not taken away.
    try await shell(
      """
      sqlite3 c.db "CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT)"
      $tandem attach c.db --server http://127.0.0.1:\(spaces.port) --space other --table note -q && $tandem sync c.db -q
      """)
    await spaces.stop()
    let taken = "$tandem space rename other --space todo --confirm todo \(spaces.words)"
    #expect(try await shell(taken, status: 1).error.contains("there is a space other"))
    // The former name is free for a space again.
    try await shell("$tandem space rename notes --space other --confirm other \(spaces.words)")
    try await spaces.start()
    try await refusal(of: "c.db", "is called notes now")
    #expect(try await spaces.names().contains(#"{"name":"notes","access":"write"},{"name":"todo""#))
    await spaces.stop(evenOfDatabase: true)
  }

  @Test(
    "A deleted space stays deleted, its files keep their rows, and an export brings it back without loss",
    arguments: [false, true])
  func deletion(isDatabase: Bool) async throws {
    let spaces = try await makeSpaces(isDatabase: isDatabase)
    try await shell(
      """
      $tandem space export out.space --space notes \(spaces.words) &&
      sqlite3 a.db "INSERT INTO note VALUES ('later', 'Later')" && $tandem sync a.db -q &&
      sqlite3 b.db "INSERT INTO note VALUES ('b', 'offline')"
      """)
    await spaces.stop()
    let command = "$tandem space delete --space notes \(spaces.words)"
    try await shell("\(command) --confirm other", status: 2)
    try await shell("\(command) --confirm notes")
    #expect(try await shell("\(command) --confirm notes", status: 1).error.contains("notes"))
    try await spaces.start()
    for file in ["a.db", "b.db"] { try await refusal(of: file, "the space notes was deleted") }
    #expect(try await spaces.names() == #"{"spaces":[]}"#)
    #expect(
      try await shell("sqlite3 a.db 'SELECT id FROM note ORDER BY id'").output == "later\nplan\n")
    // An import needs no stop. It is the space as it was, which lacks a commit that one file has seen.
    let restore = "$tandem space import out.space --space notes \(spaces.words)"
    try await shell(restore)
    #expect(try await shell(restore, status: 1).error.contains("there is a space of this name"))
    #expect(try await shell("$tandem sync a.db", status: 1).error.contains("--lost-history"))
    try await shell(
      """
      $tandem sync a.db -q --lost-history union && $tandem sync b.db -q && $tandem sync a.db -q --verify &&
      $tandem diff a.db b.db --table note
      """)
    #expect(
      try await shell("sqlite3 b.db 'SELECT id FROM note ORDER BY id'").output
        == "b\nlater\nplan\n")
    // A copy under another name goes its own way.
    try await shell("$tandem space import out.space --space copy \(spaces.words)")
    #expect(
      try await spaces.names().contains(#"[{"name":"copy","access":"write"},{"name":"notes""#))
    let none = try await shell("$tandem space import a.db --space no \(spaces.words)", status: 1)
    #expect(none.error.contains("a.db") || none.error.contains("another database"))
    try await shell("$tandem space export out.space --space notes \(spaces.words)", status: 1)
    await spaces.stop(evenOfDatabase: true)
  }
}
