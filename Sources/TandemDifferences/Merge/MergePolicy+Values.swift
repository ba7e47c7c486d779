extension MergePolicy {
  /// Resolves a value that both sides edited to the result of `merge`. Unresolved if `merge`
  /// returns `nil`, if there is no base, or if one side deleted the value.
  ///
  /// Use this for any merge that needs all three versions, such as a merge of texts.
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

  /// Takes the version with the greater `key`, such as a date for "last writer wins". Unresolved if
  /// neither is greater, or if one side deleted the value.
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

  /// Takes the version with the lesser `key`. Unresolved if neither is less, or if one side deleted
  /// the value.
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
  /// Takes the greater version. Unresolved if neither is greater, as with NaN, or if one side
  /// deleted the value.
  @inlinable
  public static var maximum: MergePolicy { .maximum(by: { $0 }) }

  /// Takes the lesser version. Unresolved if neither is less, as with NaN, or if one side deleted
  /// the value.
  @inlinable
  public static var minimum: MergePolicy { .minimum(by: { $0 }) }
}

extension MergePolicy where Value: FixedWidthInteger & SendableMetatype {
  /// Takes the base plus the changes of both sides, as for likes, stock or balances.
  ///
  /// Unresolved if the sum does not fit the type, if there is no base, or if one side deleted the
  /// value. Exact whenever the sum fits.
  ///
  /// If both sides arrive at the same value, they agree, and no policy is called: if both counted
  /// up by one, the merge counts one. If this matters, keep one count per device.
  @inlinable
  public static var counter: MergePolicy {
    .merging { base, local, remote in
      let sum = local &+ (remote &- base)
      // The remote change lies within one turn of the type's range. So a sum that wrapped around is
      // on the wrong side of `local`.
      return (remote >= base) == (sum >= local) ? sum : nil
    }
  }
}

extension MergePolicy where Value: SetAlgebra & SendableMetatype {
  /// Takes the members that either side has, without the members of the base that either side
  /// removed.
  ///
  /// Without a base this is the plain union, because a removal cannot be distinguished from an
  /// absence. Unresolved if one side deleted the whole value.
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
  /// Takes the text with the edits of both sides. Unresolved if they overlap, if one side deleted
  /// the text, or if there is no base. See ``TextMerge``.
  @inlinable
  public static var textMerge: MergePolicy {
    .merging { TextMerge(base: $0, local: $1, remote: $2).merged }
  }
}
