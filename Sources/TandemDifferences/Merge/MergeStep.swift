/// One record whose two sides differ. Records with equal sides have no step.
///
/// Versions are positions in the base, local and remote arrays, or ``absent``.
@usableFromInline
struct MergeStep {
  /// The kind of difference.
  @usableFromInline
  enum Kind: UInt8 {
    /// Only the local side changed the record, or added or deleted it.
    case takeLocal
    /// Only the remote side changed the record, or added or deleted it.
    case takeRemote
    /// Both sides changed the record, in different ways.
    case conflict
  }

  @usableFromInline static var absent: Int { @inlinable get { -1 } }

  @usableFromInline var kind: Kind
  /// The number of records before this one in the merged order, of the side whose order that is.
  @usableFromInline var rank: Int
  @usableFromInline var base: Int
  @usableFromInline var local: Int
  @usableFromInline var remote: Int

  @inlinable
  init(kind: Kind, rank: Int, base: Int, local: Int, remote: Int) {
    self.kind = kind
    self.rank = rank
    self.base = base
    self.local = local
    self.remote = remote
  }

  /// Returns true if this record comes before `other` in the order of remote: remote records in
  /// their order, local additions at their ``rank``, in local order.
  @inlinable
  func precedes(_ other: MergeStep) -> Bool {
    if rank != other.rank { return rank < other.rank }
    if remote != Self.absent || other.remote != Self.absent { return remote == Self.absent }
    return local < other.local
  }

  /// The step of the merge whose sides are exchanged.
  @inlinable
  var mirrored: MergeStep {
    var step = self
    (step.local, step.remote) = (remote, local)
    switch kind {
    case .takeLocal: step.kind = .takeRemote
    case .takeRemote: step.kind = .takeLocal
    case .conflict: break
    }
    return step
  }
}

/// The order of a merge.
@usableFromInline
package enum MergeOrder {
  /// The order of remote, with local additions after their local predecessor.
  case remote
  /// The order of local, which only local changed, with remote additions after their remote
  /// predecessor.
  case local
  /// As ``remote``, although both sides changed the order of the base, in different ways.
  case remoteDisputed
}

/// The three versions in memory, for the search for steps.
@usableFromInline
struct MergeSides<Element> {
  @usableFromInline let base: UnsafeBufferPointer<Element>
  @usableFromInline let local: UnsafeBufferPointer<Element>
  @usableFromInline let remote: UnsafeBufferPointer<Element>

  @inlinable
  init(
    base: UnsafeBufferPointer<Element>, local: UnsafeBufferPointer<Element>,
    remote: UnsafeBufferPointer<Element>
  ) {
    self.base = base
    self.local = local
    self.remote = remote
  }
}

extension MergeSides where Element: Equatable {
  /// Returns the kind of step for the versions at these positions, or `nil` if the sides agree.
  @inlinable
  func kind(base b: Int, local l: Int, remote r: Int) -> MergeStep.Kind? {
    let isLocal = l != MergeStep.absent
    let isRemote = r != MergeStep.absent
    if isLocal && isRemote ? local[l] == remote[r] : isLocal == isRemote { return nil }
    guard b != MergeStep.absent else {
      return isLocal ? isRemote ? .conflict : .takeLocal : .takeRemote
    }
    if isLocal && local[l] == base[b] { return .takeRemote }
    if isRemote && remote[r] == base[b] { return .takeLocal }
    return .conflict
  }

  /// Adds a step for the versions at these positions, if the sides differ.
  @inlinable
  func note(base: Int, local: Int, remote: Int, rank: Int, in steps: inout [MergeStep]) {
    guard let kind = kind(base: base, local: local, remote: remote) else { return }
    steps.append(MergeStep(kind: kind, rank: rank, base: base, local: local, remote: remote))
  }
}
