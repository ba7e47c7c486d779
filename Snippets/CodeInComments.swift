// The code that the comments of public symbols show, each part in the isolation in which it is shown.
import Tandem

struct Note: Codable, Equatable, Identifiable, Sendable {
  var id: Int
  var title: String
  var likes = 0
}

struct Place: Codable, Equatable, Identifiable, DatabaseRecord {
  var id: Int64
  var name: String
}

@MainActor final class Pin: Identifiable {
  nonisolated let id: Int64
  var name: String

  init(_ place: Place) { (id, name) = (place.id, place.name) }
  func move(to place: Place) { name = place.name }
}

// MARK: - Differences

// snippet.policy
let policy: MergePolicy<Note> =
  .editBeatsDelete
  .then(.fieldwise(MergeField(\.title), MergeField(\.likes, .counter)))
  .then(.keepRemote)
// snippet.end

func unique(_ received: [Note]) throws -> [Note] {
  // snippet.unique
  let notes = try DuplicatePolicy.last.unique(received, identifiedBy: \.id)
  // snippet.end
  return notes
}

@MainActor func present(_ places: [Place]) throws {
  // snippet.differ
  var differ = SetDiffer<Place, Pin, Place.ID>()
  let difference = try differ.difference(to: places, onInsert: Pin.init) { pin, place in
    pin.move(to: place)
    return pin
  }
  // snippet.end
  print(difference.inserted.count)  // 1
}

/// In the place of a `UICollectionView`.
@MainActor final class ListView {
  func performBatchUpdates(_ changes: () -> Void) { changes() }
  func deleteItems(at places: [[Int]]) { print("delete", places) }
  func reloadItems(at places: [[Int]]) { print("reload", places) }
  func insertItems(at places: [[Int]]) { print("insert", places) }
  func moveItem(at place: [Int], to other: [Int]) { print("move", place, other) }
}

@MainActor func animate(_ difference: ListDifference<Place>, in view: ListView) {
  var rows = [Place(id: 1, name: "Paris")]
  // snippet.batches
  for batch in difference.batches {
    view.performBatchUpdates {
      if let next = batch.applying(to: rows) { rows = next }
      view.deleteItems(at: batch.deletions.map { [0, $0.offset] })
      view.reloadItems(at: batch.updates.map { [0, $0.oldOffset] })
      view.insertItems(at: batch.insertions.map { [0, $0.offset] })
      for move in batch.moves { view.moveItem(at: [0, move.from], to: [0, move.to]) }
    }
  }
  // snippet.end
}

// MARK: - Live queries

@MainActor final class MapView {
  func add(_ pins: [Pin]) {}
  func remove(_ pins: [Pin]) {}
}
let map = MapView()

// snippet.presenter
@MainActor func show(_ places: LiveQuery<Place>, in database: Database) async throws {
  var presenter = SetPresenter<Place, Pin>()
  for try await difference in places.differences(in: database) {
    let pins = presenter.present(difference, onInsert: Pin.init) { $0.move(to: $1) }
    map.remove(pins.deleted)
    map.add(pins.inserted)
  }
}
// snippet.end

// MARK: - Channels

// snippet.channel
struct User { var name: String; var age: Int }
let channel = Channel<User>(id: "1")
// snippet.end

@MainActor final class Store {
  struct Row {
    var id: Int
    var title = ""
  }
  var rows = [Row(id: 7)]
  var title = ""
  var changeCount = 0
}

@MainActor func bindRow(of store: Store, in hub: ChannelHub) {
  let map = KeyPathMap<User, Store.Row>().mapping(\.name, to: \.title)
  // snippet.access
  hub.bind(store, to: channel, through: map) { store, change in
    if let place = store.rows.firstIndex(where: { $0.id == 7 }) { change(&store.rows[place]) }
  }
  // snippet.end
  let model = store
  // snippet.observing
  hub.observeAllProperties(on: channel, for: model) { model, change in
    if let name = change.value(of: \.name) { model.title = name }
    model.changeCount += 1
  }
  // snippet.end
  // snippet.batch
  hub.send(
    ChannelBatch().setting(\.name, to: "Tom", on: channel).setting(\.age, to: 30, on: channel))
  // snippet.end
}

@MainActor func sendByName(in hub: ChannelHub) throws {
  // snippet.names
  let names = PropertyNames<User>().naming("name", \.name).naming("age", \.age)
  try hub.send("age", 30, on: channel, by: names)
  // snippet.end
}

@MainActor func follow(_ database: Database, in hub: ChannelHub) async throws {
  // snippet.following
  let users = RecordChannel<User>(id: "id").column("name", to: \.name).column("age", to: \.age)
  try await hub.follow(LiveQuery(table: "user"), in: database, by: users)  // until cancelled
  // snippet.end
}

// snippet.subject
let users = LinkedSubject(
  "User", of: User.self, id: String.self,
  properties: [LinkedProperty("name", \User.name), LinkedProperty("age", \User.age)])
// snippet.end

// MARK: - Synchronization

func attach(_ database: Database, to space: SyncSpace) async throws {
  // snippet.replica
  let replica = DatabaseReplica(database)
  try await replica.attach([AttachedTable("note", policies: ["likes": .counter])], to: space)
  try await replica.sync(with: space)
  // snippet.end
}

func connect() throws -> SyncSpace {
  // snippet.space
  let space = try SyncSpace.server(
    "https://sync.example.org", space: "notes", token: .file("/etc/notes/token"))
  // snippet.end
  return space
}

func remotes(token: String) throws -> [any ConditionalRemote<Note>] {
  // snippet.fileRemote
  let file = FileRemote<Note>(path: "/srv/team/notes.json")
  // snippet.end
  // snippet.httpRemote
  let document = HTTPRemote<Note>(
    url: "https://dav.example.org/notes.json", client: try SystemHTTPClient(),
    fields: ["Authorization": "Bearer \(token)"])
  let collection = HTTPRemote<Note>(
    collection: "https://api.example.org/notes", client: try SystemHTTPClient())
  // snippet.end
  return [file, document, collection]
}

// snippet.synchronizing
/// Synchronizes, and returns the contents and the shadow to keep, after an error too.
func synchronize(
  _ notes: [Note], _ shadow: RemoteShadow<Note>, with remote: any ConditionalRemote<Note>
) async -> (notes: [Note], shadow: RemoteShadow<Note>) {
  let synchronizer = Synchronizer(
    remote: remote, identifiedBy: \.id, policy: .editBeatsDelete.then(.keepRemote),
    epochPolicy: .union)
  let synchronized = await synchronizer.synchronized(client: notes, shadow: shadow)
  if case .failure(let error) = synchronized.result { print(error) }
  return (synchronized.client, synchronized.shadow)
}
// snippet.end

// MARK: - Code in the lines of the pages

func quoted(c: String, status: ReplicaStatus, in database: Database) async throws {
  _ = LiveQuery(Place.self, "WHERE country = \(c) ORDER BY name LIMIT 20")
  _ = LiveQuery(Place.self, "WHERE isFavorite").differences(in: database)
  _ = RecordSource.table("place", ofFileAt: "a.db")
  _ = try await SyncSpace.named(status.space)
}

try present([Place(id: 1, name: "Paris")])
print(try unique([Note(id: 1, title: "Milk")]).count, try remotes(token: "").count)  // 1 3
