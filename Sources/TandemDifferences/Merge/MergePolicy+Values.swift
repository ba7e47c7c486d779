extension MergePolicy {
  /// What `merge` makes of a value that both sides edited; unresolved if it returns `nil`, if there
  /// is no base, or if one side deleted the value.
  ///
  /// This is where a merge of texts plugs in, or any other that needs all three versions.
  @inlinable
  public static func merging(
    _ merge: @escaping @Sendable (_ base: Value, _ local: Value, _ remote: Value) -> Value?
  ) -> MergePolicy {
    MergePolicy { conflict in
      guard case .editEdit(let base, let local, let remote) = conflict,
        let merged = merge(base, local, remote)
      else { return .unresolved }
      return .merged(merged)
    }
  }

  /// The version whose `key` is greater, as in "last writer wins" by a date; unresolved if neither
  /// is, or if one side deleted the value.
  @inlinable
  public static func maximum<Key: Comparable & SendableMetatype>(
    by key: @escaping @Sendable (Value) -> Key
  ) -> MergePolicy {
    MergePolicy { conflict in
      guard let local = conflict.local.map(key), let remote = conflict.remote.map(key) else {
        return .unresolved
      }
      return local < remote ? .remote : remote < local ? .local : .unresolved
    }
  }

  /// The version whose `key` is less; unresolved if neither is, or if one side deleted the value.
  @inlinable
  public static func minimum<Key: Comparable & SendableMetatype>(
    by key: @escaping @Sendable (Value) -> Key
  ) -> MergePolicy {
    MergePolicy { conflict in
      guard let local = conflict.local.map(key), let remote = conflict.remote.map(key) else {
        return .unresolved
      }
      return local < remote ? .local : remote < local ? .remote : .unresolved
    }
  }
}

extension MergePolicy where Value: Comparable & SendableMetatype {
  /// The greater version; unresolved if neither is, as with NaN, or if one side deleted the value.
  @inlinable
  public static var maximum: MergePolicy { .maximum(by: { $0 }) }

  /// The lesser version; unresolved if neither is, as with NaN, or if one side deleted the value.
  @inlinable
  public static var minimum: MergePolicy { .minimum(by: { $0 }) }
}

extension MergePolicy where Value: FixedWidthInteger & SendableMetatype {
  /// The base plus what both sides added to it or took from it: likes, stock, balances.
  ///
  /// Unresolved if the sum does not fit the type, if there is no base to count from, or if one side
  /// deleted the value. Exact whenever the sum itself fits.
  ///
  /// Sides that arrive at the same value agree, here as everywhere, and no policy is asked: where
  /// both counted up by one, the merge counts one. Keep a count per device where that matters.
  @inlinable
  public static var counter: MergePolicy {
    .merging { base, local, remote in
      let sum = local &+ (remote &- base)
      // What remote added lies within one turn of the type's range, so a sum that wrapped around
      // lies on the wrong side of `local`.
      return (remote >= base) == (sum >= local) ? sum : nil
    }
  }
}

extension MergePolicy where Value: SetAlgebra & SendableMetatype {
  /// The members either side has, less the members of the base that either side removed.
  ///
  /// Without a base this is the plain union, since no removal can be told from an absence.
  /// Unresolved if one side deleted the whole value.
  @inlinable
  public static var union: MergePolicy {
    MergePolicy { conflict in
      switch conflict {
      case .editEdit(let base, let local, let remote):
        .merged(
          local.intersection(remote)
            .union(local.subtracting(base))
            .union(remote.subtracting(base)))
      case .addAdd(let local, let remote): .merged(local.union(remote))
      case .editDelete, .deleteEdit: .unresolved
      }
    }
  }
}

extension MergePolicy<String> {
  /// The text with the edits of both sides; unresolved where they overlap, and if one side deleted
  /// the text or there is no base. See ``TextMerge``.
  @inlinable
  public static var textMerge: MergePolicy {
    .merging { TextMerge(base: $0, local: $1, remote: $2).merged }
  }
}
