internal import TandemRecords
internal import TandemSync

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
