import Tandem

struct Note: Codable, Equatable, Identifiable, Sendable {
  var id: Int
  var text: String
}

/// Merges the notes of this device with those of others.
func synchronize(_ notes: [Note], with remote: some ConditionalRemote<Note>) async throws {
  let synchronizer = Synchronizer(
    remote: remote, identifiedBy: \.id, policy: .keepLocal, epochPolicy: .union)
  // An application keeps both. The shadow has the notes as they were after the last synchronization.
  var (notes, shadow) = (notes, RemoteShadow<Note>())
  try await synchronizer.synchronize(client: &notes, shadow: &shadow)
  print(notes.map(\.text))
}

// The notes of all devices are at an address with entity tags, or in a shared file.
let notes = [Note(id: 1, text: "Milk")]
if let place = CommandLine.arguments.dropFirst().first {
  if place.hasPrefix("http") {
    try await synchronize(notes, with: HTTPRemote<Note>(url: place, client: SystemHTTPClient()))
  } else {
    try await synchronize(notes, with: FileRemote<Note>(path: place))
  }
}
