import Foundation
import Tandem

let folder = NSTemporaryDirectory() + "todo-\(UUID().uuidString)"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(atPath: folder) }

// snippet.record
struct Todo: Codable, Equatable, Identifiable, DatabaseRecord {
  var id: Int64
  var title: String
  var isDone = false
}
// snippet.end

let database = try await Database.open(path: "\(folder)/todo.db")
try database.write { transaction in
  try transaction.execute(
    "CREATE TABLE todo (id INTEGER PRIMARY KEY, title TEXT NOT NULL, isDone INTEGER NOT NULL)")
  try transaction.insert(Todo(id: 1, title: "Buy milk"))
}

// snippet.query
let isDone = false
let open = LiveQuery(Todo.self, "WHERE isDone = \(isDone) ORDER BY title LIMIT 100")
let explanation = try await open.explanation(in: database)
print(explanation)
// snippet.end
precondition(explanation.isListIncremental)

// snippet.main
/// The models behind a list on the screen.
@MainActor final class TodoList {
  final class Row {
    var title: String
    init(_ todo: Todo) { title = todo.title }
  }
  private var rows = SetPresenter<Todo, Row>()
  var titles: [String] { rows.presented.values.map(\.title).sorted() }

  /// Keeps the rows true until the task is cancelled. The loop and the rows are on the main actor.
  func follow(_ query: LiveQuery<Todo>, in database: Database) async throws {
    for try await difference in query.differences(in: database) {
      let changes = rows.present(
        difference, onInsert: { Row($0) }, onUpdate: { row, todo in row.title = todo.title })
      print(changes.inserted.count, changes.updated.count, changes.deleted.count)
    }
  }
}
// snippet.end

// snippet.life
// A view begins the query when it appears, and cancels the task when it disappears.
let list = TodoList()
let following = Task { try await list.follow(open, in: database) }
// snippet.end
while list.titles != ["Buy milk"] { try await Task.sleep(for: .milliseconds(5)) }
try database.write { transaction in
  try transaction.insert(Todo(id: 2, title: "Sleep"))
  try transaction.execute("UPDATE todo SET isDone = 1 WHERE id = 1")
}
while list.titles != ["Sleep"] { try await Task.sleep(for: .milliseconds(5)) }
following.cancel()
try await following.value

// snippet.actor
/// An index for searching, on an actor of its own.
actor SearchIndex {
  private(set) var words: [String: Set<Int64>] = [:]

  func follow(_ database: Database) async throws {
    let todos = LiveQuery(Todo.self)
    for try await difference in todos.differences(in: database, delivery: .everyCommit) {
      for todo in difference.deleted { remove(todo) }
      for update in difference.updated {
        remove(update.old)
        add(update.new)
      }
      for todo in difference.inserted { add(todo) }
    }
  }

  private func add(_ todo: Todo) {
    for word in todo.title.split(separator: " ") {
      words[String(word), default: []].insert(todo.id)
    }
  }
  private func remove(_ todo: Todo) {
    for word in todo.title.split(separator: " ") { words[String(word)]?.remove(todo.id) }
  }
}
// snippet.end
let index = SearchIndex()
let indexing = Task { try await index.follow(database) }
while await index.words["Sleep"] != [2] { try await Task.sleep(for: .milliseconds(5)) }
try database.write { try $0.execute("UPDATE todo SET title = 'Sleep well' WHERE id = 2") }
while await index.words["well"] != [2] { try await Task.sleep(for: .milliseconds(5)) }
indexing.cancel()
try await indexing.value

// snippet.track
// Another program writes this table. With tracking, its commits read only the rows that changed.
let blindSpots = try await database.track(table: "todo")
print(blindSpots)  // []: tracking sees every change of this table
// snippet.end
precondition(blindSpots.isEmpty)

// snippet.error
do {
  // The result has no column that tells its rows apart.
  let titles = LiveQuery("SELECT title FROM todo", key: "id")
  for try await rows in titles.values(in: database) { print(rows) }
} catch let error as DatabaseError {
  print(error)
}
// snippet.end
