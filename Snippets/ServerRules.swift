import Foundation
import Tandem
import TandemServer

let folder = NSTemporaryDirectory() + "rules-\(UUID().uuidString)"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(atPath: folder) }

// snippet.rules
// Only its author changes a note, and nobody forges an author.
let service = try SyncService(
  spacesIn: "\(folder)/spaces",
  rules: { commit in
    let account = commit.account.map { FieldValue.text($0) } ?? .null
    var decision = CommitDecision()
    for change in commit.changes where change.table == "note" {
      if let old = change.old, old["author"] != account {
        decision.refuse(change, "only the author may change a note")
      } else {
        decision.amend(change, ["author": account])
      }
    }
    return decision
  })
// snippet.end

@Sendable func notify(_ change: CommittedChanges.Change) async throws { print(change.table) }
@Sendable func save(_ position: String) throws {}

// snippet.commits
@Sendable func follow(_ service: SyncService, after saved: CommitPosition?) async throws {
  for try await commits in service.commits(in: "notes", after: saved) {
    for change in commits.changes { try await notify(change) }
    try save("\(commits.position)")
  }
}
// snippet.end
do { try await follow(service, after: nil) } catch { print(error) }  // There is no such space.
await service.close()
