internal import TandemRecords
internal import TandemSync

/// A commit that is being made, as far as the limits allow: in one message, or in parts if it is too long for one.
/// Messages are written one after the other: each change is encoded once, and nothing but the present message is in
/// memory.
struct CommitDraft {
  enum Answer {
    case added
    /// The commit has no room for it.
    case full
    /// No commit can hold the record.
    case tooLarge
  }

  /// The bytes of a message beside its changes, with room to spare.
  private static let frameByteCount = 4_096

  /// The message that is being written.
  private struct Message {
    var changeCount = 0
    var overruledCount = 0
    var changes = JSONWriter()
    var overruled = JSONWriter()

    var isEmpty: Bool { changeCount == 0 && overruledCount == 0 }
    var byteCount: Int {
      CommitDraft.frameByteCount + changes.bytes.count + overruled.bytes.count
    }
  }

  let limits: SyncLimits
  /// States the values of records in unique indexes.
  let claims: IndexClaims
  /// The number of changes of all parts.
  private(set) var changeCount = 0
  /// The number of overruled versions of all parts.
  private var overruledCount = 0
  /// The number of messages that were stored.
  private(set) var storedCount = 0
  /// Their length.
  private var storedByteCount = 0
  /// True if no more changes are to be added: those that follow may need the one that had no room.
  private var isEnded = false
  private var message = Message()
  /// The commit, without changes.
  private let commit: SyncCommit
  private let store: (_ changeCount: Int, _ message: [UInt8]) throws -> Void

  /// A draft of a commit, whose changes are left out.
  ///
  /// - Parameter store: Called with each message when it is complete. Each is that of a commit of its own: the number
  ///   of parts is known at the end only.
  init(
    _ commit: SyncCommit, _ limits: SyncLimits, _ claims: IndexClaims,
    _ store: @escaping (_ changeCount: Int, _ message: [UInt8]) throws -> Void
  ) {
    self.commit = commit
    self.limits = limits
    self.claims = claims
    self.store = store
  }

  var isFull: Bool { changeCount >= limits.maxPartsChangeCount || roomByteCount <= 0 }

  /// True if the commit takes no more changes.
  var isClosed: Bool { isEnded || isFull }
  /// Ends the changes.
  mutating func close() { isEnded = true }

  /// The room of the commit beside the messages that were stored and the present one.
  private var roomByteCount: Int { limits.maxPartsByteCount - storedByteCount - message.byteCount }

  /// Adds the changes of one record: all of them or none, to one message.
  mutating func add(_ changes: [SyncChange]) throws -> Answer {
    guard changeCount + changes.count <= limits.maxPartsChangeCount else { return .full }
    let answer = try addToOneMessage { message, limits in
      guard message.changeCount + changes.count <= limits.maxCommitChangeCount else { return .full }
      for change in changes where message.changes.append(change) > limits.maxRecordByteCount {
        return .tooLarge
      }
      message.changeCount += changes.count
      return .added
    }
    if answer == .added { changeCount += changes.count }
    return answer
  }

  /// Adds a version that a merge overruled.
  mutating func add(overruled version: SyncRecordState) throws -> Answer {
    guard overruledCount < limits.maxPartsChangeCount else { return .full }
    let answer = try addToOneMessage { message, limits in
      guard message.overruledCount < limits.maxCommitChangeCount else { return .full }
      guard message.overruled.append(version) <= limits.maxRecordByteCount else { return .tooLarge }
      message.overruledCount += 1
      return .added
    }
    if answer == .added { overruledCount += 1 }
    return answer
  }

  /// Stores the last message, if it has anything.
  mutating func finish() throws { if !message.isEmpty { try storeMessage() } }

  /// Adds to the present message, or to the next one if the present one has no room.
  private mutating func addToOneMessage(
    _ add: (inout Message, SyncLimits) -> Answer
  ) throws -> Answer {
    let answer = addIfFits(add)
    guard answer == .full, !message.isEmpty, storedCount + 1 < SyncLimits.maxPartCount else {
      return answer
    }
    try storeMessage()
    return addIfFits(add)
  }

  private mutating func addIfFits(_ add: (inout Message, SyncLimits) -> Answer) -> Answer {
    let (changes, overruled) = (message.changes.bytes.count, message.overruled.bytes.count)
    let former = (message.changeCount, message.overruledCount)
    var answer = add(&message, limits)
    if answer == .added, message.byteCount > limits.maxCommitByteCount || roomByteCount < 0 {
      answer = .full
    }
    guard answer != .added else { return answer }
    message.changes.remove(after: changes)
    message.overruled.remove(after: overruled)
    (message.changeCount, message.overruledCount) = former
    return answer
  }

  private mutating func storeMessage() throws {
    let bytes = SyncMessageWriter.bytes(
      commit, changes: message.changes.bytes, overruled: message.overruled.bytes)
    try store(message.changeCount, bytes)
    storedCount += 1
    // The numbers of the part and of the parts come in addition.
    storedByteCount += bytes.count + CommitDraft.partByteCount
    message = Message()
  }

  /// The length of the numbers of a part and of the parts in a message, at most.
  private static let partByteCount = 64
}

extension JSONWriter {
  /// Writes an element of an array; returns its length without the comma before it.
  fileprivate mutating func append(_ element: some JSONWritable) -> Int {
    let start = bytes.isEmpty ? 0 : bytes.count + 1
    write(element)
    return bytes.count - start
  }
}
