// snippet.hide
import Tandem

// snippet.show
// snippet.processor
struct Item: Identifiable, Sendable {
  var id: String
  var order: Int
  var version: Int
}

actor Library {
  var versions: [String: Int] = [:]
  func put(_ item: Item) { versions[item.id] = item.version }
  func remove(_ ids: [String]) { for id in ids { versions[id] = nil } }
}

struct LibraryProcessor: MirrorProcessor {
  let library: Library

  func begin() async throws {}
  func source() async throws -> MirrorPages<Item> {
    MirrorPages([Item(id: "a", order: 2, version: 1), Item(id: "b", order: 1, version: 1)])
  }
  func localIDs() async throws -> MirrorPages<String> {
    MirrorPages(await library.versions.keys.sorted())
  }
  func remove(_ ids: [String]) async throws { await library.remove(ids) }
  func needsUpdate(_ item: Item) async throws -> Bool {
    await library.versions[item.id] != item.version
  }
  func order(of item: Item) -> Int { item.order }
  func prepare(_ items: [Item]) async throws -> [Item] { items }
  func transfer(
    _ item: Item, in stage: MirrorStage, progress: MirrorTransferProgress
  ) async throws {
    switch stage {
    case .preview: break
    default: await library.put(item)
    }
  }
  func end(_ report: MirrorReport<String>) async throws {}
}
// snippet.end

// snippet.running
let options = MirrorOptions(
  stages: [MirrorStageOptions(.preview), MirrorStageOptions(.content, errorPolicy: .continue)],
  concurrency: 4)
let mirror = OneWayMirror(LibraryProcessor(library: Library()), options: options)
let report = try await mirror.run()
print(report.transferred.count, report.isComplete)  // 4 true: two stages of two items
print(mirror.phase)  // idle

await mirror.requestRun()  // Does not wait for the run.
for await phase in mirror.phases() {
  print(phase)  // The current phase, then each further one.
  break
}
await mirror.cancelCurrentRun()
// snippet.end
