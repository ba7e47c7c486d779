import Observation
import Synchronization
import TandemDifferences
import TandemSync
import TestFolder
import Testing

@testable import Tandem

/// A remote in memory whose calls are seen before they arrive and before they are answered.
private actor WatchedRemote: ConditionalRemote {
  enum Call: Hashable {
    case pull, push
  }

  let remote = InMemoryRemote<SharedNote>()
  private(set) var calls: [Call] = []
  private var beforeReply: [@Sendable (Call) async throws -> Void] = []

  /// Calls `body` before the reply of the next call, which is lost if `body` throws.
  func beforeNextReply(_ body: @escaping @Sendable (Call) async throws -> Void) {
    beforeReply.append(body)
  }

  func pull() async throws -> (elements: [SharedNote], revision: RemoteRevision)? {
    let contents = await remote.pull()
    try await answer(.pull)
    return contents
  }

  func push(
    _ contents: [SharedNote], difference: SetDifference<SharedNote>, at revision: RemoteRevision?,
    token: String
  ) async throws -> RemoteRevision? {
    let reply = await remote.push(contents, difference: difference, at: revision, token: token)
    try await answer(.push)
    return reply
  }

  private func answer(_ call: Call) async throws {
    calls.append(call)
    if !beforeReply.isEmpty { try await beforeReply.removeFirst()(call) }
  }

  var notes: [SharedNote] {
    get async {
      (await remote.pull()?.elements ?? []).sorted { $0.id < $1.id }
    }
  }

  /// Changes the contents as another device does.
  func edit(_ change: @Sendable (inout [SharedNote]) -> Void) async throws {
    var (notes, shadow) = ([SharedNote](), RemoteShadow<SharedNote>())
    let synchronizer = Synchronizer(
      remote: remote, identifiedBy: \.id, policy: .unresolved, epochPolicy: .union)
    try await synchronizer.synchronize(client: &notes, shadow: &shadow)
    change(&notes)
    try await synchronizer.synchronize(client: &notes, shadow: &shadow)
  }
}

private struct ReplyLost: Error {}

private func rules(
  _ remote: WatchedRemote, _ policy: MergePolicy<SharedNote> = .keepRemote
) -> Synchronizer<SharedNote, Int> {
  var rules = Synchronizer(
    remote: remote, identifiedBy: \.id, policy: policy, epochPolicy: .union)
  rules.pause = { _ in }
  return rules
}

/// An application's object, with the array as its property.
@MainActor private final class NotesModel {
  let notes: SynchronizedArray<SharedNote, Int>

  init(_ notes: SynchronizedArray<SharedNote, Int>) { self.notes = notes }

  func edit(_ id: Int, _ text: String) {
    if let index = notes.contents.firstIndex(where: { $0.id == id }) {
      notes.contents[index].text = text
    } else {
      notes.contents.append(SharedNote(id: id, text: text))
    }
  }

  var texts: [String] { notes.contents.sorted { $0.id < $1.id }.map(\.text) }
}

/// The same in an actor.
private actor NotesKeeper {
  let notes: SynchronizedArray<SharedNote, Int>

  init(_ remote: WatchedRemote) throws {
    notes = try SynchronizedArray(
      initially: [SharedNote(id: 1, text: "Milk")], synchronizer: rules(remote))
  }

  func synchronize() async throws -> Int {
    try await notes.synchronize()
    return notes.contents.count
  }
}

@MainActor @Suite("Arrays that own contents and shadow", .timeLimit(.minutes(20)))
struct SynchronizedArrayTests {
  private let remote = WatchedRemote()

  private func model(
    _ notes: [SharedNote] = [], policy: MergePolicy<SharedNote> = .keepRemote, path: String? = nil
  ) throws -> NotesModel {
    NotesModel(
      try SynchronizedArray(
        path: path, initially: notes, synchronizer: rules(remote, policy)))
  }

  @Test("an array is a property of a main-actor class, or of an actor, and is synchronized there")
  func owners() async throws {
    let keeper = try NotesKeeper(remote)
    #expect(try await keeper.synchronize() == 1)
    let model = try model([SharedNote(id: 2, text: "Bread")])
    let report = try await model.notes.synchronize()
    #expect(model.texts == ["Milk", "Bread"])
    #expect(report.toClient.inserted.map(\.text) == ["Milk"])
    #expect(await remote.notes == model.notes.contents.sorted { $0.id < $1.id })
    #expect(!model.notes.isSynchronizing)
  }

  @Test(
    "an edit during any call of the remote is kept, and pushed by the next call",
    arguments: [0, 1])
  func editDuringCall(number: Int) async throws {
    try await remote.edit { $0 = [SharedNote(id: 1, text: "Milk")] }
    let model = try model([SharedNote(id: 2, text: "Bread")])
    for _ in 0..<number { await remote.beforeNextReply { _ in } }
    await remote.beforeNextReply { _ in
      await model.edit(2, "Rye bread")
      await model.edit(3, "Jam")
    }
    try await model.notes.synchronize()
    #expect(model.texts == ["Milk", "Rye bread", "Jam"])
    #expect(await remote.notes.map(\.text) == ["Milk", "Bread"])
    try await model.notes.synchronize()
    #expect(await remote.notes.map(\.text) == ["Milk", "Rye bread", "Jam"])
    #expect(model.notes.shadow.openConflicts.isEmpty)
  }

  @Test(
    "an edit during a call that excludes what arrives is an open conflict, until it is resolved")
  func conflictDuringCall() async throws {
    let model = try model([SharedNote(id: 1, text: "Milk")], policy: .unresolved)
    try await model.notes.synchronize()
    try await remote.edit { $0[0].text = "Oat milk" }
    await remote.beforeNextReply { _ in await model.edit(1, "Soy milk") }
    try await model.notes.synchronize()
    #expect(model.texts == ["Soy milk"])
    let conflict = try #require(model.notes.shadow.openConflicts.first)
    #expect(conflict.base?.text == "Milk" && conflict.remote?.text == "Oat milk")
    // The conflict stays, and nothing is overwritten.
    try await model.notes.synchronize()
    #expect(model.notes.shadow.openConflicts == [conflict])
    #expect(await remote.notes.map(\.text) == ["Oat milk"])

    await remote.beforeNextReply { _ in
      await MainActor.run {
        model.notes.resolve(conflict, by: SharedNote(id: 1, text: "Oat and soy milk"))
      }
    }
    try await model.notes.synchronize()
    #expect(model.notes.shadow.openConflicts.isEmpty)
    try await model.notes.synchronize()
    #expect(await remote.notes.map(\.text) == ["Oat and soy milk"])
    #expect(model.texts == ["Oat and soy milk"])
  }

  @Test(
    "an edit after a lost reply wins over the older one that arrived", arguments: [false, true])
  func lostReply(isRestarted: Bool) async throws {
    let folder = try TemporaryFolder()
    let path = folder.path(of: "notes.json")
    var model = try model([SharedNote(id: 1, text: "Milk")], path: path)
    await remote.beforeNextReply { _ in }
    await remote.beforeNextReply { [model] _ in
      await model.edit(1, "Oat milk")
      throw ReplyLost()
    }
    await #expect(throws: ReplyLost.self) { try await model.notes.synchronize() }
    #expect(model.texts == ["Oat milk"])
    try await remote.edit { $0.append(SharedNote(id: 2, text: "Bread")) }
    if isRestarted {
      try await model.notes.save()
      model = try self.model(path: path)
      #expect(model.texts == ["Oat milk"])
    }
    try await model.notes.synchronize()
    #expect(model.texts == ["Oat milk", "Bread"])
    #expect(await remote.notes.map(\.text) == ["Oat milk", "Bread"])
  }

  @Test("calls during a call share one run, which has their edits")
  func coalescing() async throws {
    let model = try model([SharedNote(id: 1, text: "Milk")])
    let others = Mutex<[Task<Int, any Error>]>([])
    await remote.beforeNextReply { _ in
      await MainActor.run {
        model.edit(2, "Bread")
        for _ in 0..<5 {
          let task = Task { try await model.notes.synchronize().roundCount }
          others.withLock { $0.append(task) }
        }
      }
      // The calls wait before this run goes on.
      for _ in 0..<100 { await Task.yield() }
    }
    try await model.notes.synchronize()
    for other in others.withLock({ $0 }) { #expect(try await other.value == 1) }
    // Pull and push of the first run; a push of the second.
    #expect(await remote.calls == [.pull, .push, .push])
    #expect(await remote.notes.map(\.text) == ["Milk", "Bread"])
  }

  @Test("the cancellation of one call leaves the others their run")
  func cancellation() async throws {
    let model = try model([SharedNote(id: 1, text: "Milk")])
    let (arrivals, arrived) = AsyncStream<Void>.makeStream()
    let (releases, release) = AsyncStream<Void>.makeStream()
    await remote.beforeNextReply { _ in
      arrived.finish()
      for await _ in releases {}
    }
    await remote.beforeNextReply { _ in }
    // The second run is cancelled with the task of the call that makes it.
    await remote.beforeNextReply { _ in
      withUnsafeCurrentTask { $0?.cancel() }
      try Task.checkCancellation()
    }
    let first = Task { try await model.notes.synchronize() }
    for await _ in arrivals {}
    let others = (0..<3).map { _ in Task { try await model.notes.synchronize() } }
    let waiting = Task { try await model.notes.synchronize() }
    for _ in 0..<100 { await Task.yield() }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    release.finish()
    #expect(try await first.value.revision != nil)
    var cancelledCount = 0
    for other in others {
      do {
        #expect(try await other.value.revision != nil)
      } catch is CancellationError {
        cancelledCount += 1
      }
    }
    #expect(cancelledCount == 1)
    #expect(await remote.notes.map(\.text) == ["Milk"])
  }

  @Test("after each failure the next call continues, and nothing is lost or doubled")
  func failures() async throws {
    let model = try model([SharedNote(id: 1, text: "Milk")])
    for number in 2..<8 {
      await remote.beforeNextReply { _ in
        await model.edit(number, "during \(number)")
        throw ReplyLost()
      }
      await #expect(throws: ReplyLost.self) { try await model.notes.synchronize() }
      try await remote.edit { $0.append(SharedNote(id: 100 + number, text: "other")) }
    }
    try await model.notes.synchronize()
    try await model.notes.synchronize()
    #expect(model.notes.contents.count == 13)
    #expect(await remote.notes == model.notes.contents.sorted { $0.id < $1.id })
  }

  @Test("records with one identity fail the call, and the next one continues")
  func duplicates() async throws {
    let model = try model([SharedNote(id: 1, text: "Milk")])
    await remote.beforeNextReply { _ in }
    await remote.beforeNextReply { _ in
      await MainActor.run { model.notes.contents.append(SharedNote(id: 1, text: "Twice")) }
    }
    await #expect(throws: MergeError.self) { try await model.notes.synchronize() }
    #expect(model.texts == ["Milk", "Twice"])
    model.notes.contents.removeLast()
    model.edit(1, "Oat milk")
    try await model.notes.synchronize()
    #expect(await remote.notes.map(\.text) == ["Oat milk"])
  }

  @Test("a file is read again, is not overwritten by a second program, and must be an array's")
  func file() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path(of: "notes.json")
    let model = try model([SharedNote(id: 1, text: "Milk")], path: path)
    try await model.notes.synchronize()
    let second = try self.model(path: path)
    #expect(second.notes.contents == model.notes.contents)
    #expect(second.notes.shadow == model.notes.shadow)
    second.edit(2, "Bread")
    try await second.notes.save()
    model.edit(3, "Jam")
    let error = await #expect(throws: RemoteError.self) { try await model.notes.save() }
    #expect(error?.code == .file)
    #expect(try self.model(path: path).texts == ["Milk", "Bread"])

    try folder.write("{}", to: "other.json")
    let malformed = #expect(throws: RemoteError.self) {
      try self.model(path: folder.path(of: "other.json"))
    }
    #expect(malformed?.code == .malformed)
  }

  @Test("a push whose state cannot be saved is not sent")
  func unsaved() async throws {
    let folder = try TemporaryFolder()
    let model = try model(
      [SharedNote(id: 1, text: "Milk")], path: folder.path(of: "missing/notes.json"))
    await #expect(throws: RemoteError.self) { try await model.notes.synchronize() }
    #expect(await remote.calls == [.pull])
    #expect(model.texts == ["Milk"])
  }

  @Test("a view is told of what arrives")
  func observation() async throws {
    try await remote.edit { $0 = [SharedNote(id: 1, text: "Milk")] }
    let model = try model()
    let (changes, change) = AsyncStream<Void>.makeStream()
    withObservationTracking {
      _ = model.notes.contents
    } onChange: {
      change.finish()
    }
    try await model.notes.synchronize()
    for await _ in changes {}
    #expect(model.texts == ["Milk"])
  }

  @Test("the form of values returns the shadow after a lost reply, and so loses nothing")
  func values() async throws {
    var (notes, shadow) = ([SharedNote(id: 1, text: "Milk")], RemoteShadow<SharedNote>())
    let remotes: any ConditionalRemote<SharedNote> = remote
    let synchronizer = Synchronizer(
      remote: remotes, identifiedBy: \.id, policy: .keepRemote, epochPolicy: .union)
    await remote.beforeNextReply { _ in }
    await remote.beforeNextReply { _ in throw ReplyLost() }
    let first = await synchronizer.synchronized(client: notes, shadow: shadow)
    #expect(throws: ReplyLost.self) { try first.result.get() }
    (notes, shadow) = (first.client, first.shadow)
    notes[0].text = "Oat milk"
    let second = await synchronizer.synchronized(client: notes, shadow: shadow)
    #expect(try second.result.get().conflicts.isEmpty)
    #expect(second.client.map(\.text) == ["Oat milk"])
    #expect(await remote.notes.map(\.text) == ["Oat milk"])
  }
}
