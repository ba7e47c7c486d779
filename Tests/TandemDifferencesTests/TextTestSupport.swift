import TandemDifferences
import TestRandom

extension SplitMix64 {
  mutating func below(_ bound: Int) -> Int {
    Int.random(in: 0..<bound, using: &self)
  }

  mutating func text(of pieces: [String], count: Int) -> String {
    (0..<count).map { _ in pieces[below(pieces.count)] }.joined()
  }

  /// `text` after so many insertions and deletions of a few scalars each.
  mutating func edited(_ text: String, editCount: Int, pieces: [String]) -> String {
    var scalars = Array(text.unicodeScalars)
    for _ in 0..<editCount {
      let offset = below(scalars.count + 1)
      if below(2) == 0 {
        scalars.removeSubrange(offset..<min(scalars.count, offset + below(4)))
      } else {
        let inserted = self.text(of: pieces, count: below(4))
        scalars.insert(contentsOf: inserted.unicodeScalars, at: offset)
      }
    }
    return String(String.UnicodeScalarView(scalars))
  }
}

/// Pieces that join into characters in many ways.
enum TextPieces {
  static let letters = ["a", "b", "c", " ", "\n"]
  static let accents = ["e", "\u{301}", "\u{E9}", "\r", "\n"]
  static let emoji = ["\u{1F1E9}", "\u{1F1EA}", "\u{200D}", "\u{1F469}", "x"]
  static let scripts = ["\u{915}", "\u{94D}", "\u{1100}", "\u{1161}", "\u{4E2D}"]
  static let all = letters + accents + emoji + scripts + ["\u{600}"]

  /// Every text of up to so many pieces.
  static func texts(of pieces: [String], upTo count: Int) -> [String] {
    guard count > 0 else { return [""] }
    let shorter = texts(of: pieces, upTo: count - 1)
    let longest = shorter.filter { $0.unicodeScalars.count == count - 1 }
    return shorter + longest.flatMap { text in pieces.map { text + $0 } }
  }
}

/// Byte-wise oracles, written without any of the code under test.
enum TextOracle {
  typealias Bytes = [UInt8]

  static func characters(_ text: String) -> [Bytes] {
    text.map { Array($0.utf8) }
  }

  static func lines(_ text: String) -> [Bytes] {
    var lines: [Bytes] = []
    var line: Bytes = []
    for byte in text.utf8 {
      line.append(byte)
      if byte == 0x0A {
        lines.append(line)
        line = []
      }
    }
    return line.isEmpty ? lines : lines + [line]
  }

  /// The offsets between two characters.
  static func boundaries(_ text: String) -> Set<Int> {
    var boundaries: Set<Int> = [0]
    var offset = 0
    for character in text {
      offset += character.utf8.count
      boundaries.insert(offset)
    }
    return boundaries
  }

  /// The fewest insertions and deletions of tokens, by the textbook table.
  static func distance<Token: Equatable>(_ old: [Token], _ new: [Token]) -> Int {
    var row = Array(0...new.count)
    for (index, token) in old.enumerated() {
      var diagonal = row[0]
      row[0] = index + 1
      for column in new.indices {
        let kept = diagonal
        diagonal = row[column + 1]
        row[column + 1] = token == new[column] ? kept : min(diagonal, row[column]) + 1
      }
    }
    return row[new.count]
  }

  /// `text` with the edits made in an array of bytes, from the last to the first.
  static func applying(_ edits: [TextDifference.Edit], to text: String) -> Bytes {
    var bytes = Array(text.utf8)
    for edit in edits.reversed() {
      let range = edit.offset..<edit.offset + edit.deleted.utf8.count
      bytes.replaceSubrange(range, with: edit.inserted.utf8)
    }
    return bytes
  }
}
