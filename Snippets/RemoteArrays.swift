import Tandem

struct Note: Codable, Equatable, Identifiable, Sendable {
  var id: Int
  var text: String
}

/// Merges the edits of this device with those of others.
func synchronize(
  _ notes: inout [Note], _ shadow: inout RemoteShadow<Note>,
  with remote: some ConditionalRemote<Note>
) async throws {
  let synchronizer = Synchronizer(
    remote: remote, identifiedBy: \.id, policy: .keepLocal, epochPolicy: .union)
  let report = try await synchronizer.synchronize(client: &notes, shadow: &shadow)
  print(notes.map(\.text), report.conflicts.count)
}

// The records of the other devices are at an address with entity tags, or in a shared file.
var notes = [Note(id: 1, text: "Milk")]
var shadow = RemoteShadow<Note>()
if let place = CommandLine.arguments.dropFirst().first {
  if place.hasPrefix("http") {
    let remote = HTTPRemote<Note>(url: place, client: try SystemHTTPClient())
    try await synchronize(&notes, &shadow, with: remote)
  } else {
    try await synchronize(&notes, &shadow, with: FileRemote<Note>(path: place))
  }
}
