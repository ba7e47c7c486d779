// snippet.hide
import Tandem

// snippet.show
// snippet.records
struct Comic: Codable, Identifiable, Equatable, Sendable {
  var id: String
  var page: Int
}
// snippet.end

func migrate() async throws {
  let shadow = [Comic(id: "A", page: 1), Comic(id: "D", page: 1)]
  let client = [Comic(id: "A", page: 2), Comic(id: "D", page: 1), Comic(id: "E", page: 1)]
  let remote = [Comic(id: "A", page: 1), Comic(id: "D", page: 5)]

  // snippet.difference
  let changes = try SetDifference(from: shadow, to: client)
  print(changes.inserted.map(\.id), changes.updated.map(\.new.id), changes.isEmpty)
  // ["E"] ["A"] false
  let words = try SetDifference(
    from: ["A", "B", "C"], to: ["B", "C", "D"], identifiedBy: \.self)
  print(words.inserted, words.deleted)  // ["D"] ["A"]
  // snippet.end

  // snippet.duplicates
  let received = [Comic(id: "A", page: 1), Comic(id: "A", page: 9)]
  let newest = try SetDifference(
    from: shadow, to: received, identifiedBy: \.id, duplicates: .last)
  print(newest.updated.map(\.new.page))  // [9]
  // snippet.end

  // snippet.applying
  let applied = changes.applying(toArray: shadow)
  print(applied?.map(\.page) ?? [])  // [2, 1, 1]
  print(changes.applying(toArray: []) == nil)  // true
  // snippet.end

  // snippet.merge
  let merge = try ThreeWayMerge(
    base: .known(shadow), local: client, remote: remote, policy: .keepLocal)
  print(merge.merged.map(\.page), merge.toRemote.count, merge.conflicts.count)  // [2, 5, 1] 2 0
  let asked = try await ThreeWayMerge(
    base: .unknown, local: client, remote: remote
  ) { conflict in
    conflict.local?.page ?? 0 > conflict.remote?.page ?? 0 ? .local : .remote
  }
  print(asked.merged.map(\.page))  // [2, 5, 1]
  // snippet.end

  // snippet.synchronizing
  let synchronizer = Synchronizer(
    remote: InMemoryRemote<Comic>(), identifiedBy: \.id, policy: .keepLocal, epochPolicy: .union)
  var (contents, state) = (client, RemoteShadow<Comic>())
  let report = try await synchronizer.synchronize(client: &contents, shadow: &state)
  let revision: RemoteRevision? = report.revision
  print(revision?.epoch ?? "", revision?.commit ?? "", report.conflicts.count)  // 1 1 0
  // snippet.end

  // snippet.owning
  let comics = try SynchronizedArray(path: nil, initially: client, synchronizer: synchronizer)
  comics.contents[0].page = 7  // at any time, also while a call runs
  try await comics.synchronize()
  // snippet.end
}

try await migrate()
