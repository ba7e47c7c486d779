internal import TandemRecords
package import TandemSync

/// Which state of a space the copy of a follower has, and what the leader needs to know to send what followed.
package struct SpaceCopyPosition: Hashable, Sendable {
  /// The head of the copy.
  package let head: SpaceRevision
  /// The identity of the leader's journal (``SQLiteSpaceConnection``).
  package let journal: SyncToken
  /// The last entry of the journal that the copy has.
  package let entry: Int
  /// The sum of the declaration of the tables, the rules and the definitions of columns.
  package let schema: RecordDigest
}

extension SpaceCopyPosition: CustomStringConvertible {
  /// The parts, with `~` between them.
  package var description: String { "\(head)~\(journal)~\(entry)~\(schema)" }

  /// Reads the form of ``description``; `nil` for any other text.
  package init?(_ text: String) {
    let parts = text.split(separator: "~", omittingEmptySubsequences: false)
    guard parts.count == 4, let head = SpaceRevision(parts[0]), let journal = SyncToken(parts[1]),
      let entry = Int(parts[2]), entry >= 0, let schema = RecordDigest(parts[3])
    else { return nil }
    self.init(head: head, journal: journal, entry: entry, schema: schema)
  }
}

/// The answer of a leader to a request for a page of a copy.
package enum SpaceCopyAnswer: Sendable {
  /// A page: lines of JSON arrays, of which the first is the ``SpaceCopyHeader``, and each other one is a row: the name
  /// of its table and its values, or fewer values for a row that is not there any more.
  case page([UInt8])
  /// The space cannot be continued from the position.
  case gone(SyncGone)
}

/// An error of a follower's copy of a space.
package enum SpaceCopyError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What was sent is no page of a space.
  case foreign(String)
  /// The records have not the digest of their version.
  case differs
  /// The history that was sent lacks the head of the copy.
  case lost
  /// The file has a space that is no copy.
  case notACopy
  /// The copy has another state than the one that the pages follow.
  case changed
  /// The server does not follow any more.
  case stopped

  package var description: String {
    switch self {
    case .foreign(let reason): "the answer is not that of a leader: \(reason)"
    case .differs: "the records that the leader sent have not the digest of their version"
    case .lost: "the history of the leader lacks the state of the copy"
    case .notACopy: "the file of this name is no copy: move it away"
    case .changed: "another program has changed the copy"
    case .stopped: "this server does not follow any more"
    }
  }
}

/// Lines of JSON arrays, with exact values.
enum SpaceCopyLines {
  /// Each line is within the limit of its page.
  private static let reader = SyncMessageReader(
    limits: SyncLimits(maxRecordByteCount: SyncLimits().maxPageMessageByteCount))

  static func line(_ values: [FieldValue]) -> [UInt8] {
    SyncMessageWriter.bytes(id: values) + [UInt8(ascii: "\n")]
  }

  static func values(_ line: [UInt8]) throws(SpaceCopyError) -> [FieldValue] {
    do { return try reader.id(line) } catch { throw .foreign("\(error)") }
  }
}
