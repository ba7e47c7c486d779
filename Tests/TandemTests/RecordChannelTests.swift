import Tandem
import TestFolder
import Testing

private struct User {
  var name: String
  var age: Int
  var nick: String?
  var isStored: Bool
}

private final class Model {
  var name = "–"
  var age = 0
  var nick: String?
  var isStored = false
  var nameCount = 0
}

struct RecordChannelTests {
  private let users = RecordChannel<User>(id: "id").column("name", to: \.name)
    .column("age", to: \.age)
  private let hub = ChannelHub()
  private let model = Model()
  private let map = KeyPathMap<User, Model>().mapping(\.age, to: \.age)
    .mapping(\.nick, to: \.nick).mapping(\.isStored, to: \.isStored)
    .mapping(
      \.name, to: \.name, equalValues: .delivered, didChange: { model, _ in model.nameCount += 1 })

  @Test("each updated column of a record reaches the channel of its id, and no other column does")
  func updating() throws {
    hub.bind(model, to: Channel(id: 1), through: map)
    let old: Record = ["id": 1, "name": "Nike", "age": 21]
    let new: Record = ["id": 1, "name": "Nike", "age": 30]
    let batch = try users.batch(for: SetDifference(updated: [.init(old: old, new: new)]))
    hub.send(batch)
    #expect(batch.count == 1 && model.age == 30 && model.nameCount == 0)

    let inserted: Record = ["id": 1, "name": "Tom", "age": 4]
    hub.send(try users.batch(for: SetDifference(inserted: [inserted], deleted: [new])))
    #expect(model.name == "Tom" && model.age == 4)
  }

  @Test("ids are integers, texts or whatever is made of a record, each with its own channels")
  func ids() throws {
    let record: Record = ["id": 7, "code": "x", "name": "Tom", "age": 4]
    let difference = SetDifference(inserted: [record])
    func bound<ID: Hashable & Sendable>(_ id: ID) -> Model {
      let model = Model()
      hub.bind(model, to: Channel(id: id), through: map)
      return model
    }
    let models = [bound(7), bound("x"), bound(["7", "x"]), bound(Int64(7))]
    hub.send(try users.batch(for: difference))
    #expect(models.map(\.name) == ["Tom", "–", "–", "–"])
    hub.send(
      try RecordChannel<User>(id: "code", as: String.self).column("name", to: \.name)
        .batch(for: difference))
    #expect(models.map(\.name) == ["Tom", "Tom", "–", "–"])
    hub.send(
      try RecordChannel<User>(idOf: { ["\($0["id"])", "x"] }).column("name", to: \.name)
        .batch(for: difference))
    #expect(models.map(\.name) == ["Tom", "Tom", "Tom", "–"])
  }

  @Test("a record that moves to another channel is new there, and has gone from the old one")
  func moving() throws {
    let other = Model()
    hub.bind(model, to: Channel(id: 1), through: map)
    hub.bind(other, to: Channel(id: 2), through: map)
    let channel = users.presence(to: \.isStored)
    let first: Record = ["rank": 1, "id": 1, "name": "Tom", "age": 4]
    let moved: Record = ["rank": 1, "id": 2, "name": "Tom", "age": 4]
    hub.send(try channel.batch(for: SetDifference(inserted: [first])))
    #expect(model.isStored && !other.isStored)
    hub.send(try channel.batch(for: SetDifference(updated: [.init(old: first, new: moved)])))
    #expect(!model.isStored && other.isStored && other.name == "Tom" && other.age == 4)
    hub.send(try channel.batch(for: SetDifference(deleted: [moved])))
    #expect(!other.isStored && other.name == "Tom", "what has gone keeps what it had")
  }

  @Test(
    "records that move up, each to the channel of the next, are there, and only the first has gone")
  func movingUp() throws {
    let models = (0..<4).map { _ in Model() }
    for (id, model) in models.enumerated() { hub.bind(model, to: Channel(id: id), through: map) }
    let channel = users.presence(to: \.isStored)
    func rows(from first: Int) -> [Record] {
      ["a", "b", "c"].enumerated().map { place, name in
        ["id": .integer(Int64(first + place)), "name": .text(name), "age": 1]
      }
    }
    let (old, new) = (rows(from: 0), rows(from: 1))
    hub.send(try channel.batch(for: SetDifference(inserted: old)))
    let updates = zip(old, new).map { SetDifference<Record>.Update(old: $0, new: $1) }
    for updated in [updates, updates.reversed()] {
      hub.send(try channel.batch(for: SetDifference(updated: updated)))
      #expect(models.map(\.isStored) == [false, true, true, true])
      #expect(models.map(\.name) == ["a", "a", "b", "c"])
    }
  }

  @Test("an optional property takes a null, and a conversion may leave the model as it is")
  func nulls() throws {
    hub.bind(model, to: Channel(id: 1), through: map)
    model.nick = "T"
    let channel = RecordChannel<User>(id: "id").column("nick", to: \.nick)
      .column("age", to: \.age) { if case .text(let text) = $0 { Int(text) } else { nil } }
    hub.send(
      try channel.batch(for: SetDifference(inserted: [["id": 1, "nick": .null, "age": "44"]])))
    #expect(model.nick == nil && model.age == 44)
    hub.send(
      try channel.batch(for: SetDifference(inserted: [["id": 1, "nick": "N", "age": 1.5]])))
    #expect(model.nick == "N" && model.age == 44)
  }

  @Test(
    "a value or id that does not fit is an error that names record, column, value and type",
    arguments: [
      (["id": 1, "name": 7, "age": 1], "User 1: the column name holds 7, which is no String"),
      (
        ["id": 1, "name": .null, "age": 1], "User 1: the column name holds null, which is no String"
      ),
      (["id": 1, "name": "a", "age": 1.5], "User 1: the column age holds 1.5, which is no Int"),
      (["id": "x", "name": "a", "age": 1], "User: the column id holds \"x\", which is no Int"),
      (["id": 1, "name": "a"], "User 1: there is no column age"),
      (["name": "a", "age": 1], "User: there is no column id"),
    ] as [(Record, String)])
  func misfits(_ record: Record, _ message: String) {
    do throws(RecordChannelError) {
      _ = try users.batch(for: SetDifference(inserted: [record]))
      Issue.record("there was no error")
    } catch {
      #expect(error.description == message)
    }
  }
}

@MainActor struct RecordChannelFollowingTests {
  private let hub = ChannelHub()
  private let users = RecordChannel<User>(id: "id").column("name", to: \.name)
    .column("age", to: \.age).presence(to: \.isStored)
  private let channel = Channel<User>(id: 1)
  private let model = Model()
  private let map = KeyPathMap<User, Model>().mapping(\.name, to: \.name).mapping(\.age, to: \.age)
    .mapping(\.isStored, to: \.isStored)

  /// Runs `body` while the hub follows a table, with a connection of which the database knows nothing
  /// and the ages that the model gets.
  private func following(
    _ body:
      @MainActor (
        Database, DatabaseConnection, inout any AsyncIteratorProtocol<Int, Never>
      ) async throws -> Void
  ) async throws {
    let folder = try TemporaryFolder()
    let other = try DatabaseConnection(path: folder.path(of: "a.db"))
    try other.execute("CREATE TABLE user (id INTEGER PRIMARY KEY, name, age)")
    try other.execute("INSERT INTO user VALUES (1, 'Nike', 21)")
    let database = try Database(path: folder.path(of: "a.db"))
    hub.bind(model, to: channel, through: map)
    var ages: any AsyncIteratorProtocol<Int, Never> = hub.values(of: \User.age, on: channel)
      .makeAsyncIterator()
    let task = Task { try await hub.follow(LiveQuery(table: "user"), in: database, by: users) }
    let first = await ages.next(isolation: #isolation)
    #expect(first == 21 && model.name == "Nike" && model.isStored)
    try await body(database, other, &ages)
    task.cancel()
    try await task.value
    await database.close()
  }

  @Test("a model follows its row, whoever changes it, each commit at once, until cancelled")
  func committing() async throws {
    var names: [String] = []
    hub.observe(\.age, on: channel) { [model] in names.append("\($0) \(model.name)") }
    try await following { database, other, ages in
      for age in 22...24 {
        try await database.write { transaction in
          try transaction.execute("UPDATE user SET age = \(age) WHERE id = 1")
          try transaction.execute("UPDATE user SET name = \("own \(age)") WHERE id = 1")
        }
        let next = await ages.next(isolation: #isolation)
        #expect(next == age && model.name == "own \(age)")
      }
      for statement in [
        "BEGIN", "UPDATE user SET age = 30", "UPDATE user SET name = 'other'", "COMMIT",
      ] { try other.execute(statement) }
      let next = await ages.next(isolation: #isolation)
      #expect(next == 30 && model.name == "other")
    }
    #expect(names == ["21 Nike", "22 own 22", "23 own 23", "24 own 24", "30 other"])
    hub.send(\.age, 99, on: channel)
    #expect(model.age == 99, "the hub works on")
  }

  @Test("a row that is deleted and comes back is told of")
  func presence() async throws {
    try await following { _, other, ages in
      var presences = hub.values(of: \User.isStored, on: channel).makeAsyncIterator()
      try other.execute("DELETE FROM user")
      var isStored = await presences.next(isolation: #isolation)
      #expect(isStored == false && !model.isStored && model.name == "Nike")
      try other.execute("INSERT INTO user VALUES (1, 'Tom', 3)")
      isStored = await presences.next(isolation: #isolation)
      #expect(isStored == true && model.isStored && model.name == "Tom")
    }
  }

  @Test("a row that does not fit ends it, and nothing of its commit arrives")
  func misfit() async throws {
    let folder = try TemporaryFolder()
    let database = try Database(path: folder.path(of: "a.db"))
    try await database.write { transaction in
      try transaction.execute("CREATE TABLE user (id INTEGER PRIMARY KEY, name, age)")
      try transaction.execute("INSERT INTO user VALUES (1, 'Tom', 3), (2, 'Ann', 'old')")
    }
    hub.bind(model, to: channel, through: map)
    let error = await #expect(throws: RecordChannelError.self) {
      try await hub.follow(LiveQuery(table: "user"), in: database, by: users)
    }
    #expect(error?.description == "User 2: the column age holds \"old\", which is no Int")
    #expect(model.name == "–")
    await database.close()
  }
}
