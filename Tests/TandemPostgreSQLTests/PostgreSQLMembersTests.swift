import TandemSpace
import TandemSync
import TestPostgreSQL
import Testing

@testable import TandemPostgreSQL

@Suite("Members of spaces on PostgreSQL", .timeLimit(.minutes(20)))
struct PostgreSQLMembersTests {
  private func open(_ address: String) async throws -> PostgreSQLDatabase {
    try await PostgreSQLDatabase.open(address: address, creates: true, maxConnectionCount: 4)
  }

  private func create(_ name: String, _ database: PostgreSQLDatabase) async throws {
    _ = try await PostgreSQLSpaceStore.open(database, name: name, creates: true)
  }

  private func set(
    _ account: String, _ role: SpaceRole?, in space: String, _ members: PostgreSQLMembers
  ) async throws {
    _ = try await members.change(SpaceMemberChange(account: account, role: role), in: space)
  }

  @Test("A node sees each change of another one after it asked, and no earlier one twice")
  func changes() async throws {
    let address = try TestCluster.shared.get().makeDatabase()
    let database = try await open(address)
    for name in ["a", "b"] { try await create(name, database) }
    let (first, second) = (PostgreSQLMembers(database), PostgreSQLMembers(database))
    try await set("ann", .owner, in: "a", first)
    try await set("ann", .reader, in: "b", first)
    try await set("bob", .writer, in: "a", first)
    #expect(second.role(of: "ann", in: "a") == nil)
    try await second.refresh()
    #expect(second.roles(of: "ann") == ["a": .owner, "b": .reader])
    #expect(second.role(of: "bob", in: "a") == .writer)
    #expect(second.role(of: "bob", in: "b") == nil)
    #expect(try await database.memberChanges(after: 3).members.isEmpty)
    try await set("bob", nil, in: "a", first)
    try await set("ann", .writer, in: "b", first)
    // Nothing changes, and no number is used up.
    try await set("ann", .writer, in: "b", first)
    let changes = try await database.memberChanges(after: 3)
    #expect(changes.version == 5 && changes.members.count == 2)
    try await second.refresh()
    #expect(second.role(of: "bob", in: "a") == nil && second.roles(of: "bob").isEmpty)
    #expect(second.roles(of: "ann") == ["a": .owner, "b": .writer])
    #expect(
      try await second.members(of: "a") == [SpaceMember(account: "ann", role: .owner)])
    await #expect(throws: SyncRequestError.self) {
      try await self.set("ann", .owner, in: "missing", first)
    }
    await database.close()
  }

  @Test(
    "Members go with a renamed space, and those of a deleted one have no right in its successor")
  func names() async throws {
    let address = try TestCluster.shared.get().makeDatabase()
    let database = try await open(address)
    try await create("a", database)
    let members = PostgreSQLMembers(database)
    try await set("ann", .owner, in: "a", members)
    try await members.refresh()
    let store = try await PostgreSQLSpaceStore.open(database, name: "a", creates: false)
    #expect(try await store?.rename(to: "b") == true)
    #expect(try await PostgreSQLSpaceStore.successor(of: "a", database) == "b")
    #expect(try await PostgreSQLSpaceStore.successor(of: "b", database) == nil)
    try await members.refresh()
    #expect(members.roles(of: "ann") == ["b": .owner])
    #expect(members.role(of: "ann", in: "a") == nil)
    let renamed = try #require(
      try await PostgreSQLSpaceStore.open(database, name: "b", creates: false))
    let position = try #require(try await renamed.read { try $0.position() })
    try await renamed.delete()
    #expect(try await PostgreSQLSpaceStore.successor(of: "b", database) == nil)
    // Another space takes the name, as by an import.
    let owner = SpaceMember(account: "eve", role: .owner)
    _ = try await PostgreSQLSpaceStore.receive(
      database, name: "b", position, members: [owner]
    ) { space in
      var generator = SystemRandomNumberGenerator()
      _ = try space.create(using: &generator)
    }
    let fresh = PostgreSQLMembers(database)
    for members in [members, fresh] {
      try await members.refresh()
      #expect(members.roles(of: "ann").isEmpty)
      #expect(members.role(of: "eve", in: "b") == .owner)
    }
    await database.close()
  }

  @Test("Of two nodes that create a space at once, one makes its owner; the other one makes none")
  func creation() async throws {
    let address = try TestCluster.shared.get().makeDatabase()
    let database = try await open(address)
    let created = try await withThrowingTaskGroup(of: String?.self) { group in
      for number in 1...8 {
        group.addTask {
          let isCreated = try await PostgreSQLSpaceStore.create(
            database, name: "lists", owner: "a\(number)")
          return isCreated ? "a\(number)" : nil
        }
      }
      return try await group.reduce(into: [String]()) { if let account = $1 { $0.append(account) } }
    }
    #expect(created.count == 1)
    let members = try await database.members(of: "lists")
    #expect(members == created.map { SpaceMember(account: $0, role: .owner) })
    await database.close()
  }

  @Test("An account creates as many spaces as it may, also on two nodes at once")
  func createdCount() async throws {
    let address = try TestCluster.shared.get().makeDatabase()
    let database = try await open(address)
    @Sendable func isCreated(_ name: String, _ owner: String) async throws -> Bool {
      do {
        return try await PostgreSQLSpaceStore.create(
          database, name: name, owner: owner, maxCount: 3)
      } catch let error as SyncRequestError where error.code == .overQuota {
        return false
      }
    }
    let count = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 1...8 {
        group.addTask { try await isCreated("s\(number)", "ann") }
      }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    let names = try await PostgreSQLSpaceStore.names(database)
    #expect(count == 3 && names.count == 3)
    #expect(try await isCreated("other", "bob"))
    let store = try await PostgreSQLSpaceStore.open(database, name: names[0], creates: false)
    try await store?.delete()
    #expect(try await isCreated("next", "ann"))
    #expect(try await !isCreated("more", "ann"))
    await database.close()
  }

  @Test("Two owners who remove each other at once leave one of them")
  func lastOwner() async throws {
    let address = try TestCluster.shared.get().makeDatabase()
    let database = try await open(address)
    let members = PostgreSQLMembers(database)
    for round in 1...20 {
      try await create("s\(round)", database)
      for account in ["ann", "bob"] { try await set(account, .owner, in: "s\(round)", members) }
      await withTaskGroup(of: Void.self) { group in
        for (asker, other) in [("ann", "bob"), ("bob", "ann")] {
          group.addTask {
            _ = try? await members.change(
              SpaceMemberChange(account: other, role: nil, asker: asker, keepsOwner: true),
              in: "s\(round)")
          }
        }
      }
      #expect(try await members.members(of: "s\(round)").count == 1)
    }
    await database.close()
  }

  @Test("A database that was restored from a backup takes back what was changed since")
  func restored() async throws {
    let cluster = try TestCluster.shared.get()
    let address = try cluster.makeDatabase()
    let database = try await open(address)
    try await create("a", database)
    let members = PostgreSQLMembers(database)
    try await set("ann", .owner, in: "a", members)
    try await set("bob", .reader, in: "a", members)
    try await members.refresh()
    #expect(members.role(of: "bob", in: "a") == .reader)
    try cluster.run(
      "DELETE FROM tandem.member WHERE account = 'bob'; UPDATE tandem.meta SET members = 1",
      at: address)
    try await members.refresh()
    #expect(members.role(of: "bob", in: "a") == nil)
    #expect(members.role(of: "ann", in: "a") == .owner)
    await database.close()
  }
}
