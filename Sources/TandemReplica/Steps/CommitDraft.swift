internal import TandemRecords
internal import TandemSync

/// A commit that is being made, as far as the limits allow. Its parts are written as the message has
/// them, one after the other: each is encoded once, and nothing but the message is in memory.
struct CommitDraft {
  enum Answer {
    case added
    /// The commit has no room for it.
    case full
    /// No commit can hold the record.
    case tooLarge
  }

  /// The bytes of a commit's message beside its changes, with room to spare.
  private static let frameByteCount = 4_096

  let limits: SyncLimits
  private(set) var changeCount = 0
  /// True if no more changes are to be added: those that follow may need the one that had no room.
  private var isEnded = false
  private var overruledCount = 0
  private var changes = JSONWriter()
  private var overruled = JSONWriter()

  init(_ limits: SyncLimits) { self.limits = limits }

  var isEmpty: Bool { changeCount == 0 && overruledCount == 0 }
  var isFull: Bool { changeCount >= limits.maxCommitChangeCount || roomByteCount <= 0 }

  /// True if the commit takes no more changes.
  var isClosed: Bool { isEnded || isFull }
  /// Ends the changes.
  mutating func close() { isEnded = true }

  private var roomByteCount: Int {
    limits.maxCommitByteCount - CommitDraft.frameByteCount - changes.bytes.count
      - overruled.bytes.count
  }

  /// Adds the changes of one record: all of them or none.
  mutating func add(_ new: [SyncChange]) -> Answer {
    let start = changes.bytes.count
    var answer =
      changeCount + new.count <= limits.maxCommitChangeCount ? Answer.added : .full
    for change in new where answer == .added {
      if changes.append(change) > limits.maxRecordByteCount { answer = .tooLarge }
    }
    if answer == .added, roomByteCount < 0 { answer = .full }
    if answer == .added { changeCount += new.count } else { changes.remove(after: start) }
    return answer
  }

  /// Adds a version that a merge overruled.
  mutating func add(overruled version: SyncRecordState) -> Answer {
    guard overruledCount < limits.maxCommitChangeCount else { return .full }
    let start = overruled.bytes.count
    let isTooLarge = overruled.append(version) > limits.maxRecordByteCount
    guard !isTooLarge, roomByteCount > 0 else {
      overruled.remove(after: start)
      return isTooLarge ? .tooLarge : .full
    }
    overruledCount += 1
    return .added
  }

  /// The message of a commit, whose changes and overruled versions are those of the draft.
  func message(of commit: SyncCommit) -> [UInt8] {
    SyncMessageWriter.bytes(commit, changes: changes.bytes, overruled: overruled.bytes)
  }
}

extension JSONWriter {
  /// Writes an element of an array; returns its length without the comma before it.
  fileprivate mutating func append(_ element: some JSONWritable) -> Int {
    let start = bytes.isEmpty ? 0 : bytes.count + 1
    write(element)
    return bytes.count - start
  }
}
