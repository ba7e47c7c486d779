/// How finely two texts are compared: the smallest piece that a ``TextDifference`` inserts or
/// deletes.
public enum TextGranularity: String, Sendable, Hashable, Codable, CaseIterable {
  /// Lines, each with the line feed that ends it. A carriage return before it belongs to the line;
  /// one without a line feed ends nothing, as in `diff` and `git`.
  case lines
  /// Words (letters, digits and underscores), runs of blanks, and single characters between them.
  /// Each ideograph and each end of line counts as a word of its own.
  case words
  /// Characters as a person sees them: extended grapheme clusters (Unicode Standard Annex 29).
  case characters
}
