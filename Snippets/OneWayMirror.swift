import Tandem

// A processor lists and stores the items: here photos with versions, in an album in memory.
struct Photo: Identifiable, Sendable { var id: Int, version: Int }

actor Album {
  var versions: [Int: Int] = [1: 1, 2: 1, 3: 1]
  var ids: [Int] { versions.keys.sorted() }
  func put(_ photo: Photo) { versions[photo.id] = photo.version }
  func remove(_ ids: [Int]) { for id in ids { versions[id] = nil } }
}

// New and newer items are transferred, then missing ones are removed, unless a transfer failed.
let remote = [Photo(id: 2, version: 1), Photo(id: 3, version: 2), Photo(id: 4, version: 1)]
let album = Album()
var processor = MirrorProcessor(
  list: { MirrorPages(remote) }, local: { MirrorPages(await album.ids) },
  transfer: { photo, _, _ in await album.put(photo) },  // After an error, the mirror retries.
  remove: { await album.remove($0) })
processor.needsUpdate = { photo in await album.versions[photo.id] != photo.version }
// snippet.running
let mirror = OneWayMirror(processor)
let report = try await mirror.run()
print(report.transferred.map(\.id), report.removed)  // [3, 4] [1]
// snippet.end
