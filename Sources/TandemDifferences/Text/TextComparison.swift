extension TextDifference {
  /// A difference is minimal, that is, changes as few lines, words or characters as can be, as long
  /// as it deletes and inserts no more than this many of them in all.
  ///
  /// This bounds the work: where more would change, the texts are first aligned by what is unique
  /// in both, so the difference may be a little longer.
  public static let maxMinimalEditCount = 256

  /// How many characters are kept, at least, between two edits by characters.
  ///
  /// What fewer would separate is one edit, that deletes and inserts them too: they are mostly there
  /// by chance, make no sense to a reader, and cost more than they save in a delta or a patch. This
  /// is the one exception to ``maxMinimalEditCount``; lines and words know none.
  public static let minimumKeptCharacterCount = 4

  /// Compares two texts.
  ///
  /// The difference is minimal within the limits of ``maxMinimalEditCount`` and
  /// ``minimumKeptCharacterCount``. Equal arguments give equal differences, wherever the standard
  /// library has the same version of Unicode.
  ///
  /// - Complexity: O((*n* + *m*) · min(*d*, `maxMinimalEditCount`)) time at worst for texts of *n*
  ///   and *m* bytes and *d* changes, and O(*n* + *m*) on ordinary texts; O(*n* + *m*) space, none
  ///   of it for what both texts begin and end with.
  ///
  /// See Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), in its linear-space
  /// form; and Bram Cohen's patience difference, here over runs of tokens.
  public init(from old: String, to new: String, by granularity: TextGranularity = .characters) {
    self = ContiguousText.with(old, new) { old, new in
      let changes = changedBytes(from: old, to: new, by: granularity)
      return TextDifference(
        verifiedEdits: changes.map { change in
          Edit(at: change.old.lowerBound, deleting: old[change.old], inserting: new[change.new])
        })
    }
  }
}

/// The changed byte ranges between two texts, in order, none touching the next.
func changedBytes(
  from old: ContiguousText, to new: ContiguousText, by granularity: TextGranularity
) -> [RangePair] {
  let effort = ComparisonEffort(granularity)
  let middle = RangePair(betweenCommonEndsOf: old, new, by: granularity)
  if granularity == .characters, old.hasByteCharacters(middle.old),
    new.hasByteCharacters(middle.new)
  {
    return TokenComparison.changes(
      from: UnsafeBufferPointer(rebasing: old.utf8[middle.old]),
      to: UnsafeBufferPointer(rebasing: new.utf8[middle.new]), effort: effort
    ).map { $0.moved(by: middle.old.lowerBound) }
  }
  var tokenizer = TextTokenizer()
  let oldTokens = tokenizer.tokens(of: old, in: middle.old, by: granularity)
  let newTokens = tokenizer.tokens(of: new, in: middle.new, by: granularity)
  return oldTokens.numbers.withUnsafeBufferPointer { oldNumbers in
    newTokens.numbers.withUnsafeBufferPointer { newNumbers in
      TokenComparison.changes(from: oldNumbers, to: newNumbers, effort: effort).map {
        RangePair(old: oldTokens.byteRange($0.old), new: newTokens.byteRange($0.new))
      }
    }
  }
}

extension RangePair {
  /// What lies between the common beginning and the common end of two texts; cut between
  /// characters, or between lines for the coarser granularities.
  fileprivate init(
    betweenCommonEndsOf old: ContiguousText, _ new: ContiguousText, by granularity: TextGranularity
  ) {
    let limit = min(old.count, new.count)
    guard limit > 0, let oldStart = old.utf8.baseAddress, let newStart = new.utf8.baseAddress else {
      self.init(old: 0..<old.count, new: 0..<new.count)
      return
    }
    var start = commonPrefixLength(oldStart, newStart, limit: limit)
    start =
      granularity == .characters
      ? Self.characterStart(old, new, atOrBefore: start) : old.lineStart(atOrBefore: start)
    let suffix = commonSuffixLength(
      endingAt: oldStart + old.count, newStart + new.count, limit: limit - start)
    let kept =
      granularity == .characters
      ? Self.characters(old, new, inCommonSuffix: suffix)
      : Self.lines(old, new, inCommonSuffix: suffix)
    self.init(old: start..<old.count - kept, new: start..<new.count - kept)
  }

  /// The last offset that lies between two characters of both texts, in their common prefix.
  private static func characterStart(
    _ old: ContiguousText, _ new: ContiguousText, atOrBefore offset: Int
  ) -> Int {
    let start = new.characterStart(atOrBefore: old.characterStart(atOrBefore: offset))
    return start == offset ? start : characterStart(old, new, atOrBefore: start)
  }

  /// How much of a common suffix is whole characters of both texts.
  ///
  /// A suffix of flags may be paired differently in either text, right to the end: so both are
  /// walked in turn instead of being asked again for every offset.
  private static func characters(
    _ old: ContiguousText, _ new: ContiguousText, inCommonSuffix byteCount: Int
  ) -> Int {
    let oldStart = old.characterEnd(atOrAfter: old.count - byteCount)
    let newStart = new.characterEnd(atOrAfter: new.count - byteCount)
    var oldWalk = CharacterWalk(old, from: oldStart)
    var newWalk = CharacterWalk(new, from: newStart)
    while true {
      let oldRest = old.count - oldWalk.offset
      let newRest = new.count - newWalk.offset
      if oldRest == newRest { return oldRest }
      if oldRest > newRest { oldWalk.advance() } else { newWalk.advance() }
    }
  }

  /// How much of a common suffix is whole lines of both texts.
  private static func lines(
    _ old: ContiguousText, _ new: ContiguousText, inCommonSuffix byteCount: Int
  ) -> Int {
    var kept = byteCount
    while kept > 0, !(old.isLineStart(old.count - kept) && new.isLineStart(new.count - kept)) {
      kept -= 1
    }
    return kept
  }
}
