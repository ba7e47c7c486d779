import Foundation
import Tandem

let folder = NSTemporaryDirectory() + "notes-\(UUID().uuidString)"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(atPath: folder) }

// snippet.file
/// The file of an application. The program makes one value, and uses it in any task.
struct Notes: Sendable {
  let database: Database
  let replica: DatabaseReplica

  init(path: String) async throws {
    database = try await Database.open(path: path)
    replica = DatabaseReplica(database, epochPolicy: .union)
    try await database.migrate([
      DatabaseMigration("create notes") { transaction in
        try transaction.execute(
          """
          CREATE TABLE note (
            id TEXT NOT NULL PRIMARY KEY, title TEXT, likes INTEGER NOT NULL DEFAULT 0)
          """)
      }
    ])
  }

  /// Attaches the file when the program starts for the first time. The file stays attached.
  func attach(to space: SyncSpace) async throws {
    do {
      let table = AttachedTable("note", policies: ["likes": .counter])
      for notice in try await replica.attach([table], to: space) { print(notice) }
    } catch let error as ReplicaError where error.code == .alreadyAttached {
      // An earlier start has attached it.
    }
  }
}
// snippet.end

// snippet.once
let space = try await SyncSpace.file("\(folder)/shared.space", creates: true)
let phone = try await Notes(path: "\(folder)/phone.db")
try await phone.attach(to: space)

// Any program may write the file, with or without a connection.
try phone.database.write { transaction in
  try transaction.execute("INSERT INTO note (id, title) VALUES ('n1', 'Plan')")
}
let report = try await phone.replica.sync(with: space)
print(report.pushedCount, report.pulledCount, report.conflictCount)  // 1 0 0

// Another copy waits until it has what this one has sent.
let laptop = try await Notes(path: "\(folder)/laptop.db")
try await laptop.attach(to: space)
try await laptop.replica.sync(with: space, upTo: report.revision)
// snippet.end
precondition(report.pushedCount == 1)
let titles: [String] = try laptop.database.read {
  try $0.fetchValues("SELECT title FROM note")
}
precondition(titles == ["Plan"])

// snippet.run
/// The line about the synchronization on a screen.
@MainActor final class SyncLine {
  private(set) var text = ""

  /// Keeps the file in step, and the line true, until the task is cancelled.
  func follow(_ notes: Notes, in space: SyncSpace) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await notes.replica.run(with: space) }
      group.addTask { try await self.show(notes.replica.statusUpdates) }
      // An error of one task ends both.
      for try await _ in group {}
    }
  }

  private func show(_ updates: ReplicaSequence<ReplicaStatus>) async throws {
    for try await status in updates {
      switch status.state {
      case .upToDate: text = "in step"
      case .pending: text = "\(status.pendingCount) changes wait"
      case .rejected: text = "\(status.rejectedCount) changes were rejected"
      case .conflicts: text = "\(status.conflictCount) conflicts are open"
      case .blocked: text = status.blockReason?.message ?? "blocked"
      }
    }
  }
}
// snippet.end
let line = SyncLine()
let following = Task { try await line.follow(phone, in: space) }
while line.text != "in step" { try await Task.sleep(for: .milliseconds(5)) }
following.cancel()
_ = await following.result

// snippet.connection
let (states, state) = AsyncStream<SyncStatus>.makeStream(bufferingPolicy: .bufferingNewest(1))
let running = Task {
  try await phone.replica.run(with: space) { status, error in state.yield(status) }
}
loop: for await status in states {
  switch status {
  case .offline: print("The space cannot be reached; the next attempt follows by itself.")
  case .blocked(let block): print("Help is needed:", block)
  case .upToDate: break loop
  case .connecting, .pushing, .pulling, .verifying: continue
  }
}
// The run ends before the database is closed.
running.cancel()
_ = await running.result
try phone.database.close()
// snippet.end
