internal import TandemRecords
internal import TandemSync

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
