public import TandemDifferences

extension MergePolicy<FieldValue> {
  /// For integers, the base plus what both sides added to it or took from it; unresolved for other
  /// values, for a sum beyond 64 bits, and if there is no base. See `MergePolicy.counter`.
  public static var counter: MergePolicy {
    merging(MergePolicy<Int64>.counter) {
      if case .integer(let number) = $0 { number } else { nil }
    } wrap: {
      .integer($0)
    }
  }

  /// For texts, the text with the edits of both sides; unresolved for other values, where the edits
  /// overlap, and if there is no base. See `TextMerge`.
  public static var textMerge: MergePolicy {
    merging(MergePolicy<String>.textMerge) {
      if case .text(let text) = $0 { text } else { nil }
    } wrap: {
      .text($0)
    }
  }

  /// A policy for one type of value, applied where all three versions are of that type.
  private static func merging<Part: Sendable>(
    _ policy: MergePolicy<Part>, unwrap: @escaping @Sendable (FieldValue) -> Part?,
    wrap: @escaping @Sendable (Part) -> FieldValue
  ) -> MergePolicy {
    .merging { base, local, remote in
      guard let base = unwrap(base), let local = unwrap(local), let remote = unwrap(remote),
        case .merged(let value) = policy.resolution(
          of: .editEdit(base: base, local: local, remote: remote))
      else { return .none }
      return wrap(value)
    }
  }
}
