import Tandem

struct Note: Codable, Equatable, Identifiable, Sendable {
  var id: Int
  var text: String
}

let shared = InMemoryRemote<Note>()

// snippet.screen
@MainActor final class NotesScreen {
  let notes: SynchronizedArray<Note, Int>

  init(path: String?, remote: any ConditionalRemote<Note>) throws {
    notes = try SynchronizedArray(
      path: path,
      synchronizer: Synchronizer(
        remote: remote, identifiedBy: \.id, policy: .keepLocal, epochPolicy: .union))
  }

  func add(_ text: String) {
    // During a call, too. A random ID is another one on each device.
    notes.contents.append(Note(id: .random(in: 0 ..< .max), text: text))
    Task { try await notes.synchronize() }
  }
}
// snippet.end

let screen = try NotesScreen(path: nil, remote: shared)
screen.add("Milk")
screen.add("Bread")  // The two calls share a run, or one waits for the other.
try await screen.notes.synchronize()
print(screen.notes.contents.map(\.text))  // ["Milk", "Bread"]
screen.notes.contents[0].text = "Oat milk"
try await screen.notes.save()  // To a file, if it has one. A call of synchronize saves as well.
