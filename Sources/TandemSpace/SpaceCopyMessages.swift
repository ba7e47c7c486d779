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

/// The first line of a page of a copy.
package struct SpaceCopyHeader: Hashable, Sendable {
  /// The state of the space when the page was read. It is that of the copy if there is no other page.
  package let position: SpaceCopyPosition
  /// The horizon of the space.
  package let horizon: Int
  /// The cursor of the next page; `nil` for the last one.
  package let next: String?
  /// The members of the space, if they are others than those that the follower has; `nil` but on the last page.
  package private(set) var members: [SpaceMember]?

  /// The line as values.
  var values: [FieldValue] {
    let start: [FieldValue] = [
      .text("copy"), .text(position.description), .integer(Int64(horizon)),
      next.map { .text($0) } ?? .null,
    ]
    guard let members else { return start }
    return start + [.text(Self.membersFollow)] + members.map { .text($0.text) }
  }

  private static let membersFollow = "members"

  init(position: SpaceCopyPosition, horizon: Int, next: String?) {
    self.position = position
    self.horizon = horizon
    self.next = next
  }

  /// The header of a page.
  ///
  /// - Throws: ``SpaceCopyError`` with `foreign`.
  package init(ofPage bytes: [UInt8]) throws(SpaceCopyError) {
    let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
    let values = try SpaceCopyLines.values(Array(line))
    guard values.count >= 4, values[0] == .text("copy"),
      let position = values[1].textValue.flatMap({ SpaceCopyPosition($0) }),
      let horizon = values[2].integerValue, (0...position.head.version).contains(horizon),
      values[3].isNull || values[3].textValue != nil
    else { throw .foreign("its first line is not that of a page") }
    self.init(position: position, horizon: horizon, next: values[3].textValue)
    if values.count > 4 { members = try Self.members(values[4...]) }
  }

  private static func members(
    _ values: ArraySlice<FieldValue>
  ) throws(SpaceCopyError) -> [SpaceMember] {
    let members = values.dropFirst().compactMap { $0.textValue.flatMap { SpaceMember(text: $0) } }
    guard values.first == .text(membersFollow), members.count == values.count - 1,
      members.count <= SpaceMember.maxCount, Set(members.map(\.account)).count == members.count
    else { throw .foreign("it has members that no space has; update this program") }
    return members
  }

  /// Adds the members of the space to a page, if it is the last one.
  package static func adding(
    _ members: [SpaceMember], toLast page: [UInt8]
  ) throws(SpaceCopyError) -> [UInt8] {
    var header = try SpaceCopyHeader(ofPage: page)
    guard header.next == nil else { return page }
    header.members = members
    let rows = page.drop { $0 != UInt8(ascii: "\n") }.dropFirst()
    return SpaceCopyLines.line(header.values) + rows
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

/// The spaces of a leader, and what became of those that it has no more.
package struct SpaceCopyList: Hashable, Sendable {
  /// Changes with each change of the list.
  package let tag: String
  /// The name of each space, and a text that changes with each of its commits, and with its members.
  package let spaces: [String: String]
  package let former: [String: FormerSpace]

  package init(tag: String, spaces: [String: String], former: [String: FormerSpace]) {
    self.tag = tag
    self.spaces = spaces
    self.former = former
  }

  /// The text of a space. Leaders of earlier versions send its mark only.
  package static func text(mark: String, members tag: String) -> String { "\(mark);\(tag)" }

  /// True if the leader gives the members of a space, which one of an earlier version does not.
  package func hasMembers(of space: String) -> Bool { spaces[space]?.contains(";") ?? false }

  /// The list as lines of JSON arrays.
  package var bytes: [UInt8] {
    var bytes = SpaceCopyLines.line([.text("list"), .text(tag)])
    for (name, tag) in spaces.sorted(by: { $0.key < $1.key }) {
      bytes += SpaceCopyLines.line([.text("space"), .text(name), .text(tag)])
    }
    for (name, former) in former.sorted(by: { $0.key < $1.key }) {
      bytes += SpaceCopyLines.line([.text("former"), .text(name), .text(former.text)])
    }
    return bytes
  }

  /// Reads the form of ``bytes``.
  ///
  /// - Throws: ``SpaceCopyError`` with `foreign`.
  package init(_ bytes: [UInt8]) throws(SpaceCopyError) {
    var tag: String?
    var spaces: [String: String] = [:]
    var former: [String: FormerSpace] = [:]
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      let texts = try SpaceCopyLines.values(Array(line)).map(\.textValue)
      switch (texts.first, texts.count) {
      case ("list", 2) where tag == nil: tag = texts[1]
      case ("space", 3) where tag != nil && spaces.count < SyncLimits.maxListedSpaceCount:
        guard let name = texts[1], let state = texts[2], spaces[name] == nil else {
          throw .foreign("a line is not that of a list of spaces")
        }
        spaces[name] = state
      case ("former", 3) where tag != nil && former.count < SyncLimits.maxListedSpaceCount:
        guard let name = texts[1], let text = texts[2] else {
          throw .foreign("a line is not that of a list of spaces")
        }
        former[name] = FormerSpace(text: text)
      default: throw .foreign("a line is not that of a list of spaces")
      }
    }
    guard let tag else { throw .foreign("it is empty") }
    self.init(tag: tag, spaces: spaces, former: former)
  }
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
