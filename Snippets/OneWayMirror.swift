import Tandem

// A processor lists and stores the items: here photos with versions, in an album in memory.
struct Photo: Identifiable, Sendable { var id: Int, version: Int }

actor Album {
  var versions: [Int: Int] = [1: 1, 2: 1, 3: 1]
  var ids: [Int] { versions.keys.sorted() }
  func put(_ photo: Photo) { versions[photo.id] = photo.version }
  func remove(_ ids: [Int]) { for id in ids { versions[id] = nil } }
}

struct AlbumProcessor: MirrorProcessor {
  let remote: [Photo]
  let album: Album

  func source() async throws -> MirrorPages<Photo> { MirrorPages(remote) }
  func localIDs() async throws -> MirrorPages<Int> { MirrorPages(await album.ids) }
  func needsUpdate(_ photo: Photo) async throws -> Bool {
    await album.versions[photo.id] != photo.version
  }
  func transfer(
    _ photo: Photo, in stage: MirrorStage, progress: MirrorTransferProgress
  ) async throws { await album.put(photo) }  // After an error, the mirror retries.
  func remove(_ ids: [Int]) async throws { await album.remove(ids) }
}

// New and newer items are transferred, then missing ones are removed, unless a transfer failed.
let remote = [Photo(id: 2, version: 1), Photo(id: 3, version: 2), Photo(id: 4, version: 1)]
// snippet.running
let mirror = OneWayMirror(AlbumProcessor(remote: remote, album: Album()))
let report = try await mirror.run()
print(report.transferred.map(\.id), report.removed)  // [3, 4] [1]
// snippet.end
