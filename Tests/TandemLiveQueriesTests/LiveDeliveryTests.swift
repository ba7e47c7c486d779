import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemLiveQueries

@Suite("What live queries deliver, when and where", .timeLimit(.minutes(20)))
struct LiveDeliveryTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  struct Place: Codable, Identifiable, Equatable, DatabaseRecord {
    var id: Int64
    var name: String
    var isSelected: Bool?

    init(_ id: Int64, _ name: String, isSelected: Bool? = nil) {
      self.id = id
      self.name = name
      self.isSelected = isSelected
    }
  }

  static let schema = "CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT, isSelected INT)"
  static let insertion = "INSERT INTO place (id, name) VALUES (1, 'Büsingen'), (2, 'Baarle')"

  // MARK: When

  @Test("a slow consumer gets the composition of the differences of all commits", arguments: 1...20)
  func composition(_ seed: UInt64) async throws {
    var world = FuzzWorld(seed: seed)
    let database = try Database(path: folder.path(of: "test.db"))
    for sql in world.schema { try await database.run(sql) }
    let query = LiveQuery("SELECT id, w FROM b ORDER BY w DESC LIMIT 5", key: "id")
    var slow = query.differences(in: database).makeAsyncIterator()
    var quick = query.differences(in: database).makeAsyncIterator()
    _ = try await (slow.next(), quick.next())
    for round in 0..<10 {
      var composed = SetDifference<Record>()
      for number in 0..<10 {
        let top = 1_000 + 10 * round + number
        let statement = world.statement()
        // Each commit changes a row for sure, so that the quick one has something to wait for.
        try await database.write { transaction in
          try? transaction.connection.execute(statement)
          try transaction.connection.execute(
            "INSERT OR REPLACE INTO b VALUES (100, NULL, \(top))")
        }
        let difference = try #require(try await quick.next())
        composed = try #require(composed.composed(with: difference, identifiedBy: { $0["id"] }))
      }
      let difference = try #require(try await slow.next())
      #expect(Set(difference.inserted) == Set(composed.inserted))
      #expect(Set(difference.updated) == Set(composed.updated))
      #expect(Set(difference.deleted) == Set(composed.deleted))
    }
  }

  @Test("a consumer may do without a first difference that is empty")
  func emptyStart() async throws {
    let database = try await folder.database(Self.schema)
    let query = LiveQuery(Place.self)
    var told = query.differences(in: database).makeAsyncIterator()
    var toldList = query.listDifferences(in: database).makeAsyncIterator()
    #expect(try await told.next()?.isEmpty == true)
    #expect(try await toldList.next()?.isEmpty == true)
    var values = query.values(in: database).makeAsyncIterator()
    #expect(try await values.next() == [])
    let sets = [
      query.differences(in: database, deliversEmptyStart: false),
      query.differences(in: database, startingFrom: [], deliversEmptyStart: false),
    ]
    try await withThrowingTaskGroup(of: Int?.self) { group in
      for set in sets {
        group.addTask {
          var iterator = set.makeAsyncIterator()
          return try await iterator.next()?.inserted.count
        }
      }
      group.addTask {
        var iterator = query.listDifferences(in: database, deliversEmptyStart: false)
          .makeAsyncIterator()
        return try await iterator.next()?.insertions.count
      }
      try await database.run(Self.insertion)
      for try await count in group { #expect(count == 2) }
    }
  }

  @Test("what was committed before a cancellation and not yet asked for never arrives")
  func cancellation() async throws {
    let database = try await folder.database(Self.schema, Self.insertion)
    let sequence = LiveQuery(Place.self).differences(in: database)
    let task = Task {
      var iterator = sequence.makeAsyncIterator()
      #expect(try await iterator.next()?.inserted.count == 2)
      try await database.run("DELETE FROM place")
      withUnsafeCurrentTask { $0?.cancel() }
      let late = try await iterator.next()
      return late == nil
    }
    #expect(try await task.value)
    #expect(try await comesToHold { try await database.changeFeed().isIdle })
  }

  // MARK: Where

  @MainActor
  @Test("a loop on the main actor gets each element there, also those it waited for")
  func mainActor() async throws {
    let database = try await folder.database(Self.schema)
    var count = 0
    for try await places in LiveQuery(Place.self, "ORDER BY name").values(in: database) {
      MainActor.assertIsolated()
      #expect(places.count == count)
      count += 1
      if count == 10 { break }
      let place = Place(Int64(count), "x")
      Task.detached { try await database.write { try $0.insert(place) } }
    }
  }

  // MARK: Presented elements

  @Test("onUpdate keeps what is presented, and rows are compared with rows")
  func onUpdate() async throws {
    let database = try await folder.database(Self.schema, Self.insertion)
    let start = [Place(1, "Büsingen", isSelected: nil), Place(2, "?", isSelected: true)]
    var iterator = LiveQuery(Place.self).differences(
      in: database, startingFrom: start,
      onUpdate: { presented, fetched in
        presented.name = fetched.name
      }
    ).makeAsyncIterator()
    let second = Place(2, "Baarle", isSelected: true)
    #expect(
      try await iterator.next() == SetDifference(updated: [.init(old: start[1], new: second)]))
    // What is presented differs from the row, which is no change of the row.
    try await database.run("UPDATE place SET name = 'B' WHERE id = 1")
    #expect(
      try await iterator.next()
        == SetDifference(updated: [.init(old: start[0], new: Place(1, "B"))]))
    try await database.run("UPDATE place SET name = 'Baarle-Hertog' WHERE id = 2")
    let third = Place(2, "Baarle-Hertog", isSelected: true)
    #expect(try await iterator.next() == SetDifference(updated: [.init(old: second, new: third)]))
    try await database.run("DELETE FROM place WHERE id = 2")
    #expect(try await iterator.next() == SetDifference(deleted: [third]))
    try await database.run("INSERT INTO place (id, name) VALUES (2, 'new')")
    #expect(try await iterator.next() == SetDifference(inserted: [Place(2, "new")]))
  }

  @MainActor
  final class Pin {
    var name: String
    var isSelected = false

    init(_ place: Place) { name = place.name }
  }

  @MainActor
  @Test("a presenter keeps the same objects, on the main actor")
  func presenter() async throws {
    let database = try await folder.database(Self.schema, Self.insertion)
    var presenter = SetPresenter<Place, Pin>()
    var iterator = LiveQuery(Place.self).differences(in: database).makeAsyncIterator()
    let first = try #require(try await iterator.next())
    let pins = presenter.present(first, onInsert: { Pin($0) }, onUpdate: { $0.name = $1.name })
    #expect(pins.inserted.map(\.name) == ["Büsingen", "Baarle"])
    pins.inserted[0].isSelected = true
    try await database.run(
      "UPDATE place SET name = 'B' WHERE id = 1", "DELETE FROM place WHERE id = 2")
    let second = try #require(try await iterator.next())
    let changed = presenter.present(second, onInsert: { Pin($0) }, onUpdate: { $0.name = $1.name })
    #expect(changed.updated.count == 1 && changed.updated[0].new === pins.inserted[0])
    #expect(pins.inserted[0].name == "B" && pins.inserted[0].isSelected)
    #expect(changed.deleted.map(ObjectIdentifier.init) == [ObjectIdentifier(pins.inserted[1])])
    #expect(Set(presenter.presented.keys) == [1])
  }

  @Test("a presenter takes what does not follow as far as it can")
  func strayDifference() {
    var presenter = SetPresenter<Place, String>(startingFrom: [1: "one"])
    let difference = SetDifference(
      inserted: [Place(1, "uno")], updated: [.init(old: Place(2, "?"), new: Place(2, "due"))],
      deleted: [Place(3, "?")])
    let result = presenter.present(difference, onInsert: \.name, onUpdate: { $0 += $1.name })
    #expect(
      result == SetDifference(inserted: ["due"], updated: [.init(old: "one", new: "oneuno")]))
    #expect(presenter.presented == [1: "oneuno", 2: "due"])
  }

  @Test("an update that changes an element's identity takes what is presented along")
  func changedIdentity() {
    var presenter = SetPresenter<Place, String>(startingFrom: [1: "one", 2: "two", 4: "four"])
    // The first gets the identity that the second gives up, and the second that of a stranger.
    let difference = SetDifference(updated: [
      .init(old: Place(1, "?"), new: Place(2, "+")), .init(old: Place(2, "?"), new: Place(4, "+")),
    ])
    let result = presenter.present(difference, onInsert: \.name, onUpdate: { $0 += $1.name })
    #expect(
      result
        == SetDifference(
          updated: [.init(old: "one", new: "one+"), .init(old: "two", new: "two+")],
          deleted: ["four"]))
    #expect(presenter.presented == [2: "one+", 4: "two+"])
  }

  @Test("a closure that throws leaves what is presented as it was")
  func throwingPresenter() {
    struct Refusal: Error {}
    let start: [Int64: String] = [1: "one", 2: "two"]
    var presenter = SetPresenter<Place, String>(startingFrom: start)
    let difference = SetDifference(
      inserted: [Place(3, "+")], updated: [.init(old: Place(1, "?"), new: Place(1, "+"))],
      deleted: [Place(2, "?")])
    #expect(throws: Refusal.self) {
      _ = try presenter.present(
        difference, onInsert: { _ in throw Refusal() }, onUpdate: { $0 += $1.name })
    }
    #expect(presenter.presented == start)
  }
}
