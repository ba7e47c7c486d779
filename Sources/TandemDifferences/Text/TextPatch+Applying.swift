extension TextPatch {
  /// The result of applying a patch to a text.
  public struct Outcome: Sendable {
    /// The position of an applied hunk.
    public struct Landing: Sendable, Hashable {
      /// The start of the edit in the given text, as a UTF-8 offset.
      public var offset: Int
      /// The distance from the expected offset in bytes; negative if it is before it.
      public var distance: Int
      /// The number of bytes of the contexts that are missing, added or different.
      public var mismatchCount: Int
    }

    /// The given text, with all fitting hunks applied.
    public var text: String
    /// The changes by those hunks.
    public var difference: TextDifference
    /// For each hunk its position, or `nil` if it did not fit.
    public var landings: [Landing?]

    /// The indices of the hunks that did not fit.
    public var rejected: [Int] { landings.indices.filter { landings[$0] == nil } }
  }

  /// Applies each hunk at the best position in `text`, which may have changed since the patch was
  /// made.
  ///
  /// A hunk fits at a position if `text` has its deleted text there exactly, between two
  /// characters, at or after the end of the previous hunk, and if at most the share `maxMismatch`
  /// of its context (0 to 1) is missing, added or different, counted in bytes as Levenshtein
  /// distance. The expected position is the hunk's offset, moved by the same distance as the hunk
  /// before. Only positions within `maxDistance` bytes of it count. The hunk is applied at the
  /// position with the least mismatch, then the nearest, then the earlier one. A patch without
  /// contexts fits by its deleted text alone. Of a context longer than ``maxContextByteCount``,
  /// only the bytes nearest to the edit count.
  ///
  /// - Complexity: O(*n* + *h*) for a text of *n* bytes and *h* hunks that fit exactly, plus
  ///   O(`maxDistance` · *c*) for each other hunk, where *c* is the size of its context and
  ///   deletion. The text is searched by Sellers' algorithm (1980).
  public func applying(
    to text: String, maxDistance: Int = 1_000, maxMismatch: Double = 0.25
  ) -> Outcome {
    var landings: [Outcome.Landing?] = []
    var edits: [TextDifference.Edit] = []
    let difference = ContiguousText.with(text) { text in
      var (end, drift) = (0, 0)
      for hunk in hunks {
        let expected = max(0, min(hunk.edit.offset, TextDifference.maxOffset)) + drift
        let search = HunkSearch(
          hunk, in: text, from: end, expected: expected, maxDistance: maxDistance,
          maxMismatch: maxMismatch)
        let landing = search.landing()
        landings.append(landing)
        guard let landing else { continue }
        edits.appendJoining(hunk.edit, at: landing.offset)
        end = landing.offset + hunk.edit.deleted.utf8.count
        drift += landing.distance
      }
      return TextDifference(verifiedEdits: edits)
    }
    guard let result = difference.applying(to: text) else {
      preconditionFailure("a hunk landed where the text does not have what it deletes")
    }
    return Outcome(text: result, difference: difference, landings: landings)
  }
}

extension [TextDifference.Edit] {
  /// Appends an edit at another offset. It is joined with the last edit if they are adjacent.
  fileprivate mutating func appendJoining(_ edit: TextDifference.Edit, at offset: Int) {
    if edit.deleted.isEmpty, edit.inserted.isEmpty { return }
    if let last, last.offset + last.deleted.utf8.count == offset {
      self[count - 1].deleted += edit.deleted
      self[count - 1].inserted += edit.inserted
    } else {
      append(.init(at: offset, deleting: edit.deleted, inserting: edit.inserted))
    }
  }
}
