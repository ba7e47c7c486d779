/// Why a delta cannot be read.
public struct TextDeltaError: Error, Hashable, Sendable {
  /// What is wrong.
  public enum Kind: String, Hashable, Sendable, Codable {
    /// A number is missing, too large, begins with 0, or is followed by what belongs elsewhere.
    case malformed
    /// A backslash is followed by something else than `\`, `n`, `t`, or `x` and two digits.
    case malformedEscape
    /// An edit does nothing, or touches the one before.
    case emptyEdit
    /// More is kept or deleted than the old text has.
    case beyondEnd
    /// An edit begins or ends inside a Unicode scalar of the old text.
    case splitsScalar
  }

  /// Where in the delta reading failed, as a count of UTF-8 bytes from its start.
  public var offset: Int
  /// What is wrong there.
  public var kind: Kind

  /// An error at a UTF-8 offset of the delta.
  public init(offset: Int, kind: Kind) {
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
  /// This difference as one line of text, for whoever has the old text.
  ///
  /// Edits are separated by a tab. Each is the number of UTF-8 bytes kept since the last one,
  /// nothing if none; then `-` and the number of bytes deleted, unless none; then `+` and the text
  /// inserted, unless none. Numbers are in base 36, with lower-case letters. In inserted text a
  /// backslash is written `\\`, a line feed `\n`, a tab `\t`, and any other control character (below
  /// U+0020, and U+007F) as `\x` and two hexadecimal digits. What follows the last edit is kept.
  ///
  /// Replacing "mat" by "sofa" in "The cat sat on the mat." is `j-3+sofa`. Equal differences have
  /// equal deltas. The delta does not say which text it belongs to: keep that beside it.
  ///
  /// The form follows that of Neil Fraser's diff-match-patch, which counts UTF-16 units.
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

  /// Reads a delta that was made for `old`.
  ///
  /// - Throws: ``TextDeltaError``, for anything that ``delta`` does not write for some difference of
  ///   `old`, with the place in the delta.
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
