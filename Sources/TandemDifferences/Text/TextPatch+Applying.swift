extension TextPatch {
  /// What became of a patch in one text.
  public struct Outcome: Sendable {
    /// Where a hunk was applied.
    public struct Landing: Sendable, Hashable {
      /// Where the edit begins in the text given, as a UTF-8 offset.
      public var offset: Int
      /// How far that is from where it was expected, in bytes; negative if earlier.
      public var distance: Int
      /// How many bytes of the contexts are missing, added or different there.
      public var mismatchCount: Int
    }

    /// The text given, with the hunks that fit applied.
    public var text: String
    /// What those hunks changed in it.
    public var difference: TextDifference
    /// For each hunk where it landed; `nil` if it did not fit.
    public var landings: [Landing?]

    /// The positions of the hunks that did not fit, in the patch.
    public var rejected: [Int] { landings.indices.filter { landings[$0] == nil } }
  }

  /// Applies each hunk at the best place in `text`, which may have changed since the patch was made.
  ///
  /// A hunk fits where `text` has exactly what it deletes, between two characters, at or after the
  /// end of the previous hunk, with at most `maxMismatch` of its context (from 0 for none to 1 for
  /// all) missing, added or different, counted in bytes as Levenshtein does. Of the places no more
  /// than `maxDistance` bytes from where it is expected – its offset, moved like the hunk before –
  /// it lands where the mismatch is least; of equal ones at the nearest, of those at the earlier.
  /// A patch without contexts fits only by what it deletes; of a context longer than
  /// ``maxContextByteCount`` only the bytes nearest the edit count.
  ///
  /// - Complexity: O(*n* + *h*) for a text of *n* bytes and *h* hunks that fit exactly, plus
  ///   O(`maxDistance` · *c*) for each other one, *c* being the size of its context and deletion.
  ///   A window of text is searched by Sellers' algorithm (1980).
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
  /// Appends an edit at another offset; it becomes one with the last edit if they touch.
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
