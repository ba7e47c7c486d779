/// The error of reading a delta.
public struct TextDeltaError: Error, Hashable, Sendable {
  /// The kind of error.
  public enum Kind: String, Hashable, Sendable, Codable {
    /// A number is missing, is too large, begins with 0, or is followed by an unexpected character.
    case malformed
    /// A backslash is not followed by `\`, `n`, `t`, or `x` and two digits.
    case malformedEscape
    /// An edit does nothing, or is adjacent to the one before.
    case emptyEdit
    /// More is kept or deleted than the old text has.
    case beyondEnd
    /// An edit begins or ends inside a Unicode scalar of the old text.
    case splitsScalar
  }

  /// The offset of the error in UTF-8 bytes from the start of the delta.
  public var offset: Int
  /// The kind of error.
  public var kind: Kind

  /// Creates an error at a UTF-8 offset of the delta.
  package init(offset: Int, kind: Kind) {
    self.offset = offset
    self.kind = kind
  }
}

extension TextDeltaError: CustomStringConvertible {
  /// A sentence such as "byte 7 of the delta: more is kept or deleted than the old text has".
  public var description: String {
    let problem =
      switch kind {
      case .malformed: "expected a number in base 36, \"-\", \"+\" or a tab"
      case .malformedEscape: "a backslash is followed by none of \\, n, t and xHH"
      case .emptyEdit: "an edit does nothing, or touches the one before"
      case .beyondEnd: "more is kept or deleted than the old text has"
      case .splitsScalar: "an edit begins or ends inside a Unicode scalar of the old text"
      }
    return "byte \(offset) of the delta: \(problem)"
  }
}

extension TextDifference {
  /// This difference as one line of text, for a receiver that has the old text.
  ///
  /// Edits are separated by a tab. Each consists of the number of UTF-8 bytes kept since the last
  /// one, omitted if zero; then `-` and the number of deleted bytes, omitted if zero; then `+` and
  /// the inserted text, omitted if empty. Numbers are in base 36, with lower-case letters. In
  /// inserted text, a backslash is written `\\`, a line feed `\n`, a tab `\t`, and any other
  /// control character (below U+0020, and U+007F) as `\x` and two hexadecimal digits. Text after
  /// the last edit is kept.
  ///
  /// Replacing "mat" by "sofa" in "The cat sat on the mat." is `j-3+sofa`. Equal differences have
  /// equal deltas. The delta does not identify its old text: store that information beside it.
  ///
  /// The format follows Neil Fraser's diff-match-patch, which counts UTF-16 units.
  public var delta: String {
    var delta: [UInt8] = []
    var end = 0
    for edit in edits {
      if !delta.isEmpty { delta.append(UInt8(ascii: "\t")) }
      if edit.offset > end { delta += String(edit.offset - end, radix: 36).utf8 }
      let deletedCount = edit.deleted.utf8.count
      if deletedCount > 0 { delta += "-\(String(deletedCount, radix: 36))".utf8 }
      if !edit.inserted.isEmpty { delta.appendEscaped("+", edit.inserted) }
      end = edit.offset + deletedCount
    }
    return String(decoding: delta, as: UTF8.self)
  }

  /// Creates the difference from a delta that was made for `old`.
  ///
  /// - Throws: ``TextDeltaError``, with the offset in the delta, for any text that is not the
  ///   ``delta`` of a difference of `old`.
  /// - Complexity: O(*n* + *m*) for a text of *n* and a delta of *m* bytes.
  public init(delta: String, from old: String) throws(TextDeltaError) {
    let result = ContiguousText.with(delta, old) { delta, old in
      Result { () throws(TextDeltaError) in
        var reader = TextDeltaReader(delta: delta, old: old)
        return TextDifference(verifiedEdits: try reader.readEdits())
      }
    }
    self = try result.get()
  }
}

extension [UInt8] {
  fileprivate mutating func appendEscaped(_ prefix: Unicode.Scalar, _ text: String) {
    append(UInt8(ascii: prefix))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\\"): self += "\\\\".utf8
      case UInt8(ascii: "\n"): self += "\\n".utf8
      case UInt8(ascii: "\t"): self += "\\t".utf8
      case _ where byte.isControl:
        self += (byte < 16 ? "\\x0" : "\\x").utf8
        self += String(byte, radix: 16).utf8
      default: append(byte)
      }
    }
  }
}
