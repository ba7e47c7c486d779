extension MergePolicy<String> {
  /// The text with the edits of both sides; unresolved where they overlap, and if one side deleted
  /// the text or there is no base. See ``TextMerge``.
  @inlinable
  public static var textMerge: MergePolicy {
    .merging { TextMerge(base: $0, local: $1, remote: $2).merged }
  }
}
