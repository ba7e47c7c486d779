internal import TandemRecords
internal import TandemSync

/// The progress of a run.
package struct ReplicaProgress: Hashable, Sendable {
  /// The parts of a run that may take long.
  package enum Stage: String, Hashable, Sendable {
    /// Commits are sent.
    case sending
    /// Pages of the space are received.
    case receiving
    /// The received pages are applied.
    case applying
  }

  /// The present part.
  package let stage: Stage
  /// The rows of all commits that were accepted, with the parts that were sent of the present one, or of all pages of the pull.
  package let rowCount: Int
  /// The bytes of the values of those rows.
  package let byteCount: Int
  /// The part that is done, from 0 to 1; `nil` if the whole is not known. While pages are received, it is the
  /// part of the versions of the space.
  package let share: Double?
}

/// Counts rows and bytes.
struct RowCount {
  private(set) var rowCount = 0
  private(set) var byteCount = 0

  mutating func add(_ commit: SyncCommit, recordCount: Int) {
    rowCount += recordCount
    for change in commit.changes {
      add(change.key)
      switch change.verb {
      case .insert(let fields), .update(let fields), .add(let fields): add(fields)
      case .delete: break
      }
    }
  }

  mutating func add(_ other: RowCount) {
    rowCount += other.rowCount
    byteCount += other.byteCount
  }

  mutating func add(_ page: SyncPage) {
    rowCount += page.changes.count
    for change in page.changes {
      add(change.key)
      if let fields = change.fields { add(fields) }
    }
  }

  private mutating func add(_ key: SyncKey) { byteCount += key.id.reduce(0) { $0 + $1.byteCount } }
  private mutating func add(_ fields: Record) {
    byteCount += fields.values.reduce(0) { $0 + $1.byteCount }
  }

  /// The progress of a stage whose rows these are.
  func progress(_ stage: ReplicaProgress.Stage, share: Double?) -> ReplicaProgress {
    ReplicaProgress(stage: stage, rowCount: rowCount, byteCount: byteCount, share: share)
  }
}

extension FieldValue {
  /// The length of the value in bytes, about as a file of SQLite has it.
  fileprivate var byteCount: Int {
    switch self {
    case .null: 0
    case .integer, .real: 8
    case .text(let text): text.utf8.count
    case .blob(let bytes): bytes.count
    }
  }
}

extension SyncPage {
  /// The part of a pull that is received with this page. Records come in the order of their versions.
  func share(of pull: SyncPull) -> Double? {
    guard next != nil else { return 1 }
    let start = Double(pull.since?.version ?? 0)
    let done = (changes.last.map { Double($0.version) } ?? start) - start
    let total = Double(revision.version) - start
    // The versions are those of a peer.
    let share = done / total
    // A long last version is in several pages, and does not say how much is left.
    return share > 0 && share < 1 ? share : nil
  }
}
