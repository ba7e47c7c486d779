import Observation
import TandemSQLite
import TestFolder
import Testing

@testable import TandemLiveQueries

@Suite("Live queries as observable models", .timeLimit(.minutes(20)))
struct LiveModelTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  struct Place: Codable, Identifiable, Equatable, DatabaseRecord {
    var id: Int64
    var name: String
  }

  private func database() async throws -> Database {
    try await folder.database(
      "CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT)",
      "INSERT INTO place VALUES (1, 'b'), (2, 'a')")
  }

  /// Returns when an observed property that `body` reads changes.
  @MainActor
  private func change<Value>(of body: () -> Value, after action: () async throws -> Void)
    async throws
  {
    let (changes, change) = AsyncStream<Void>.makeStream()
    _ = withObservationTracking(body, onChange: { change.yield() })
    try await action()
    for await _ in changes { break }
    // It is called before the change, on the actor that makes it.
    await Task.yield()
  }

  @MainActor
  @Test("a model loads its rows, follows them on the main actor, and is observed")
  func mainActor() async throws {
    let database = try await database()
    let model = LiveModel(LiveQuery(Place.self, "ORDER BY name"), in: database)
    #expect(model.isLoading && model.elements.isEmpty && model.error == nil)
    try await change(of: { model.elements }) {}
    #expect(model.elements.map(\.name) == ["a", "b"])
    #expect(!model.isLoading)
    try await change(of: { model.elements }) {
      try await database.run("INSERT INTO place VALUES (3, 'c')")
    }
    #expect(model.elements.map(\.name) == ["a", "b", "c"])
  }

  @MainActor private final class Screen {
    let database: Database
    lazy var places = LiveModel(LiveQuery(Place.self, "ORDER BY name"), in: database)

    init(_ database: Database) { self.database = database }
  }

  @MainActor
  @Test("a model is the initial value of a property, of a class that is observable or not")
  func initialValue() async throws {
    let model = InitialValues().names
    try await change(of: { model.isLoading }) {}
    #expect(model.elements.map(\.name) == ["SQLite"] && model.error == nil)
    let observable = ObservableInitialValues()
    try await change(of: { observable.names.isLoading }) {}
    #expect(observable.names.elements.map(\.name) == ["SQLite"])
    let screen = Screen(try await database())
    try await change(of: { screen.places.isLoading }) {}
    #expect(screen.places.elements.map(\.name) == ["a", "b"])
    try await change(of: { screen.places.elements }) {
      try await screen.database.run("DELETE FROM place WHERE id = 1")
    }
    #expect(screen.places.elements.map(\.name) == ["a"])
  }

  @MainActor
  @Test("an error ends the query, keeps the rows, and another query begins again")
  func errors() async throws {
    let database = try await database()
    let model = LiveModel(LiveQuery(Place.self), in: database)
    try await change(of: { model.isLoading }) {}
    try await change(of: { model.error == nil }) {
      try await database.run("ALTER TABLE place RENAME TO other")
    }
    #expect((model.error as? DatabaseError)?.message == "no such table: Place")
    #expect(model.elements.count == 2 && !model.isLoading)
    model.show(LiveQuery(Place.self, "SELECT id, name FROM other WHERE id = 2"))
    #expect(model.isLoading && model.error == nil && model.elements.count == 2)
    try await change(of: { model.elements }) {}
    #expect(model.elements.map(\.id) == [2])
  }

  @MainActor
  @Test("the query ends with the model, also while it waits")
  func lifetime() async throws {
    let database = try await database()
    weak var released: LiveModel<Place>?
    do {
      let model = LiveModel(LiveQuery(Place.self), in: database)
      released = model
      try await change(of: { model.isLoading }) {}
      #expect(try await !database.changeFeed().isIdle)
    }
    #expect(try await comesToBeIdle(database))
    #expect(released == nil)
  }

  private nonisolated func comesToBeIdle(_ database: Database) async throws -> Bool {
    try await comesToHold { try await database.changeFeed().isIdle }
  }

  actor Shelf {
    private var model: LiveModel<Place>?

    func begin(_ database: Database) {
      model = LiveModel(LiveQuery(Place.self), in: database)
    }

    var count: Int? { (model?.isLoading ?? true) ? nil : model?.elements.count }
  }

  @Test("a model lives on any actor")
  func otherActor() async throws {
    let shelf = Shelf()
    await shelf.begin(try await database())
    #expect(try await comesToHold { await shelf.count == 2 })
  }
}

private struct Name: Codable, DatabaseRecord {
  var name: String
}

private let emptyDatabase: Database = {
  do {
    return try Database(path: ":memory:")
  } catch {
    preconditionFailure("\(error)")
  }
}()

private let nameQuery = LiveQuery("SELECT 'SQLite' AS name", as: Name.self, key: "name")

@MainActor private final class InitialValues {
  let names = LiveModel(nameQuery, in: emptyDatabase)
}

@MainActor @Observable private final class ObservableInitialValues {
  var names = LiveModel(nameQuery, in: emptyDatabase)
}
