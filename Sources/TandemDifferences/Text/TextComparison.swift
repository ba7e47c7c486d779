extension TextDifference {
  /// The maximum number of deleted and inserted lines, words or characters up to which a difference
  /// is minimal, that is, has the fewest possible.
  ///
  /// This bounds the work. If more change, the texts are first aligned by runs that are unique in
  /// both, so the difference may be a little longer.
  public static let maxMinimalEditCount = 256

  /// The minimum number of characters that are kept between two edits by characters.
  ///
  /// Edits with fewer characters between them become one edit, which deletes and inserts these
  /// characters too. Such characters mostly agree by chance, make no sense to a reader, and cost
  /// more than they save in a delta or a patch. This is the one exception to
  /// ``maxMinimalEditCount``; lines and words have none.
  public static let minimumKeptCharacterCount = 4

  /// Compares two texts.
  ///
  /// The difference is minimal within the limits of ``maxMinimalEditCount`` and
  /// ``minimumKeptCharacterCount``. Equal arguments give equal differences, on all machines whose
  /// standard library has the same version of Unicode.
  ///
  /// - Complexity: O((*n* + *m*) · min(*d*, `maxMinimalEditCount`)) time at worst for texts of *n*
  ///   and *m* bytes and *d* changes, and O(*n* + *m*) on ordinary texts. O(*n* + *m*) space,
  ///   without the common start and end of the texts.
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

/// Returns the changed byte ranges between two texts, in order, none adjacent to the next.
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
  /// The ranges between the common start and the common end of two texts, cut between characters,
  /// or between lines for the coarser granularities.
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

  /// Returns the last offset between two characters of both texts in their common prefix.
  private static func characterStart(
    _ old: ContiguousText, _ new: ContiguousText, atOrBefore offset: Int
  ) -> Int {
    let start = new.characterStart(atOrBefore: old.characterStart(atOrBefore: offset))
    return start == offset ? start : characterStart(old, new, atOrBefore: start)
  }

  /// Returns the length of a common suffix in whole characters of both texts.
  ///
  /// In a suffix of flags, the characters of the two texts may be divided differently up to the
  /// end. So both texts are walked in turn, instead of searching again for every offset.
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

  /// Returns the length of a common suffix in whole lines of both texts.
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
