/// The changes of a text with the text around each, so that they can be applied to a text that has
/// changed since.
///
/// After Neil Fraser's diff-match-patch. See ``applying(to:maxDistance:maxMismatch:)``.
public struct TextPatch: Sendable, Hashable, Codable {
  /// An edit and the text around it in the old text.
  public struct Hunk: Sendable, Codable {
    /// The edit of the old text.
    public var edit: TextDifference.Edit
    /// The text before the edit in the old text.
    public var leadingContext: String
    /// The text after the deleted text in the old text.
    public var trailingContext: String

    /// Creates a hunk from an edit between two contexts.
    public init(_ edit: TextDifference.Edit, after leading: String, before trailing: String) {
      self.edit = edit
      leadingContext = leading
      trailingContext = trailing
    }
  }

  /// The maximum number of bytes on each side of an edit that count as its context, nearest first.
  public static let maxContextByteCount = 1_024

  /// The hunks, in the order of the old text.
  public var hunks: [Hunk]

  /// Creates a patch from the given hunks.
  public init(hunks: [Hunk] = []) {
    self.hunks = hunks
  }

  /// Creates a patch of the changes between two texts. Each has `contextByteCount` bytes of text on
  /// either side; a few more if that would split a character, and fewer at the ends of the text.
  ///
  /// `contextByteCount` is clamped to 0…``maxContextByteCount``.
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

  /// True if there are no changes.
  public var isEmpty: Bool { hunks.isEmpty }
}

extension TextPatch.Hunk: Hashable {
  /// Returns true if two hunks are equal, byte by byte.
  public static func == (one: Self, other: Self) -> Bool {
    one.edit == other.edit
      && one.leadingContext.isIdenticalByBytes(to: other.leadingContext)
      && one.trailingContext.isIdenticalByBytes(to: other.trailingContext)
  }

  /// Hashes the edit and the bytes of its contexts.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(edit)
    leadingContext.hashBytes(into: &hasher)
    trailingContext.hashBytes(into: &hasher)
  }
}
