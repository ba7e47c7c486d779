import Tandem
import TestFolder
import TestTool
import Testing

@Suite("tandem space", .timeLimit(.minutes(20)))
struct SpaceCommandTests: ShellSuite {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test(
    "The tables of a space are shown with the constraints and their numbers, and one is dropped")
  func constraints() async throws {
    let store = try await SQLiteSpaceStore.open(
      path: folder.path(of: "shared.space"), creates: true)
    func declare(_ constraints: [SpaceConstraint]) async throws {
      _ = try await store.declare([
        SpaceTable(
          name: "cat", columns: ["mail", "up"], keyColumns: ["id"], granularity: .field,
          constraints: constraints),
        SpaceTable(name: "whole", columns: [], keyColumns: ["a", "b"], granularity: .record),
      ])
    }
    let mail = SpaceConstraint.unique([ComparedColumn("mail", .nocase)])
    let up = SpaceConstraint.reference(["up"], to: "cat", [ComparedColumn("id")])
    try await declare([])
    let token = SyncToken(bits: 1)
    let outcome = try await store.commit(
      SyncCommit(
        replica: token, sequence: 1, id: token, base: try await store.state().head,
        changes: [
          SyncChange(key: SyncKey(table: "cat", id: ["a"]), verb: .insert(["mail": 1])),
          SyncChange(key: SyncKey(table: "cat", id: ["b"]), verb: .insert(["mail": 1])),
        ]))
    guard case .accepted = outcome else { throw UnexpectedOutcome(outcome: outcome) }
    try await declare([mail, up])
    await store.close()
    #expect(
      try await shell("$tandem space --space shared.space").output == """
        cat(id): mail, up
          1  mail is unique (NOCASE); pending, broken by ("a"), ("b")
          2  up refers to cat(id)
        whole(a, b); records merge as a whole
        2 records, 18 B

        """)
    #expect(
      try await shell("$tandem space --space shared --data . --drop-constraint 1").error
        == "tandem: ./shared.space: dropped in cat: mail is unique (NOCASE)\n")
    let rest = try await shell("$tandem space --space shared.space").output
    #expect(!rest.contains("mail is unique") && rest.contains("  2  up refers"))
    let unknown = try await shell(
      "$tandem space --space shared.space --drop-constraint 1", status: 1)
    #expect(unknown.error.contains("the space has no constraint 1"))
    #expect(
      try await shell("$tandem space --space shared.space --redefine CAT").error
        == "tandem: shared.space: the next copy that synchronizes defines the columns of cat\n")
    let none = try await shell("$tandem space --space shared.space --redefine dog", status: 1)
    #expect(none.error.contains("the space has no table dog"))
    let both = "$tandem space --space shared.space --redefine cat --drop-constraint 2"
    #expect(try await shell(both, status: 2).error.contains("make one after the other"))
    try await shell("$tandem space --space none.space", status: 1)
  }

  private struct UnexpectedOutcome: Error { let outcome: SyncOutcome }
}
