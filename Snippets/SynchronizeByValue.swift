import TandemDifferences
import TandemSync

struct Note: Equatable, Identifiable, Sendable {
  var id: Int
  var text: String
}

func synchronizeTwoDevices() async throws {
  let synchronizer = Synchronizer(
    remote: InMemoryRemote<Note>(), identifiedBy: \.id, policy: .keepLocal, epochPolicy: .union)
  var (phone, phoneShadow) = ([Note(id: 1, text: "Milk")], RemoteShadow<Note>())
  var (tablet, tabletShadow) = ([Note(id: 2, text: "Bread")], RemoteShadow<Note>())

  try await synchronizer.synchronize(client: &phone, shadow: &phoneShadow)
  try await synchronizer.synchronize(client: &tablet, shadow: &tabletShadow)
  try await synchronizer.synchronize(client: &phone, shadow: &phoneShadow)
  print(phone == tablet, phone.map(\.text))  // true ["Bread", "Milk"]
}

try await synchronizeTwoDevices()
