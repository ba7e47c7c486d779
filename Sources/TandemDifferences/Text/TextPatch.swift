/// The changes of a text, each with the text around it, so that they can be made in a text that has
/// changed since.
///
/// After Neil Fraser's diff-match-patch. See ``applying(to:maxDistance:maxMismatch:)``.
public struct TextPatch: Sendable, Hashable, Codable {
  /// One edit, and what stands around it in the old text.
  public struct Hunk: Sendable, Codable {
    /// What is deleted and inserted, and where in the old text.
    public var edit: TextDifference.Edit
    /// What the old text has before the edit.
    public var leadingContext: String
    /// What the old text has after the text deleted.
    public var trailingContext: String

    /// An edit between two contexts.
    public init(_ edit: TextDifference.Edit, after leading: String, before trailing: String) {
      self.edit = edit
      leadingContext = leading
      trailingContext = trailing
    }
  }

  /// How many bytes on each side of an edit count as its context; of a longer one, those nearest.
  public static let maxContextByteCount = 1_024

  /// The hunks, in the order of the old text.
  public var hunks: [Hunk]

  /// A patch made of the given hunks.
  public init(hunks: [Hunk] = []) {
    self.hunks = hunks
  }

  /// The changes between two texts, each with so many bytes around it, or a few more where that
  /// many would split a character, or less where the text ends.
  ///
  /// `contextByteCount` is brought between zero and ``maxContextByteCount``.
  public init(
    from old: String, to new: String, by granularity: TextGranularity = .characters,
    contextByteCount: Int = 32
  ) {
    self = ContiguousText.with(old, new) { old, new in
      let margin = max(0, min(contextByteCount, Self.maxContextByteCount, old.count))
      return TextPatch(
        hunks: changedBytes(from: old, to: new, by: granularity).map { change in
          let (start, end) = (change.old.lowerBound, change.old.upperBound)
          let first = old.characterStart(atOrBefore: max(0, start - margin))
          let last = old.characterEnd(atOrAfter: min(old.count, end + margin))
          return Hunk(
            TextDifference.Edit(at: start, deleting: old[start..<end], inserting: new[change.new]),
            after: old[first..<start], before: old[end..<last])
        })
    }
  }

  /// Whether there is nothing to change.
  public var isEmpty: Bool { hunks.isEmpty }
}

extension TextPatch.Hunk: Hashable {
  /// Whether two hunks are the same, byte by byte.
  public static func == (one: Self, other: Self) -> Bool {
    one.edit == other.edit
      && one.leadingContext.isIdenticalByBytes(to: other.leadingContext)
      && one.trailingContext.isIdenticalByBytes(to: other.trailingContext)
  }

  /// Feeds the edit and the bytes of its contexts to `hasher`.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(edit)
    leadingContext.hashBytes(into: &hasher)
    trailingContext.hashBytes(into: &hasher)
  }
}
