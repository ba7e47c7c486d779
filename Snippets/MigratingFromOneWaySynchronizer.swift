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

let library = Library()
var processor = MirrorProcessor(
  list: {
    MirrorPages([Item(id: "a", order: 2, version: 1), Item(id: "b", order: 1, version: 1)])
  },
  local: { MirrorPages(await library.versions.keys.sorted()) },
  transfer: { item, stage, _ in
    switch stage {
    case .preview: break
    default: await library.put(item)
    }
  },
  remove: { await library.remove($0) })
processor.begin = {}
processor.needsUpdate = { item in await library.versions[item.id] != item.version }
processor.order = { $0.order }
processor.prepare = { $0 }
processor.end = { report in print(report.isComplete) }  // true
// snippet.end

// snippet.running
let options = MirrorOptions(
  stages: [MirrorStageOptions(.preview), MirrorStageOptions(.content, errorPolicy: .continue)],
  concurrency: 4)
let mirror = OneWayMirror(processor, options: options)
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
