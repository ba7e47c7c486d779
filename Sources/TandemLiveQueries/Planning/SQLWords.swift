/// The bare words of a statement, in upper case: keywords and unquoted names. What stands in quotes,
/// brackets or comments is left out.
struct SQLWords {
  /// Each word once.
  private(set) var words: Set<String> = []

  init(_ sql: String) {
    var rest = Array(sql.utf8)[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"): Self.skip(past: [byte], &rest)
      case UInt8(ascii: "["): Self.skip(past: [UInt8(ascii: "]")], &rest)
      case UInt8(ascii: "-") where rest.first == byte: Self.skip(past: [10], &rest)
      case UInt8(ascii: "/") where rest.first == UInt8(ascii: "*"):
        rest.removeFirst()
        Self.skip(past: Array("*/".utf8), &rest)
      case _ where Self.isWord(byte):
        let tail = rest.prefix(while: Self.isWord)
        words.insert(String(decoding: [byte] + tail, as: UTF8.self).uppercased())
        rest = rest.dropFirst(tail.count)
      default: break
      }
    }
  }

  private static func skip(past end: [UInt8], _ rest: inout ArraySlice<UInt8>) {
    while !rest.isEmpty, !rest.starts(with: end) { rest.removeFirst() }
    rest = rest.dropFirst(end.count)
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
      return true
    default: return false
    }
  }
}
