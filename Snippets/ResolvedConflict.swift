import TandemDifferences
import TandemSync

struct Note: Equatable, Identifiable, Sendable {
  var id: Int
  var title: String
  var likes = 0
}

// Two devices edit the same note. Each field is merged by itself; the remote's title wins.
func resolveConflict() async throws {
  let synchronizer = Synchronizer(
    remote: InMemoryRemote<Note>(), identifiedBy: \.id,
    policy: .fieldwise(MergeField(\.title, .keepRemote), MergeField(\.likes, .counter)),
    epochPolicy: .union)
  var (phone, phoneShadow) = ([Note(id: 1, title: "Milk")], RemoteShadow<Note>())
  var (tablet, tabletShadow) = ([Note](), RemoteShadow<Note>())
  try await synchronizer.synchronize(client: &phone, shadow: &phoneShadow)
  try await synchronizer.synchronize(client: &tablet, shadow: &tabletShadow)

  phone[0] = Note(id: 1, title: "Oat milk", likes: 1)
  tablet[0] = Note(id: 1, title: "Soy milk", likes: 2)
  try await synchronizer.synchronize(client: &phone, shadow: &phoneShadow)
  let report = try await synchronizer.synchronize(client: &tablet, shadow: &tabletShadow)
  print(report.conflicts.count)  // 1

  try await synchronizer.synchronize(client: &phone, shadow: &phoneShadow)
  print(phone == tablet, phone[0].title, phone[0].likes)  // true Oat milk 3
}

try await resolveConflict()
