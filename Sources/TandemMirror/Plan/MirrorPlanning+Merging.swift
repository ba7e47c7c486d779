extension MirrorPlanning where Item.ID: Comparable {
  /// Compares what there is by walking both sides in step.
  @inlinable
  mutating func merge() {
    let source = source
    let local = local
    while failure == nil, sourceOffset < source.count {
      let id = source[sourceOffset].id
      let previous = sourceOffset > 0 ? source[sourceOffset - 1].id : previousSource
      if let previous, !(previous < id) {
        refuse(id, isDuplicate: previous == id)
      } else if remove(local, below: id) {
        take(source[sourceOffset], isLocal: localOffset < local.count && local[localOffset] == id)
      } else {
        return
      }
    }
    if isSourceEnded, failure == nil { _ = remove(local, below: nil) }
  }

  /// Plans to remove the local identities below `id`, or all if it is `nil`; returns whether the next
  /// one, if any, is known.
  @inlinable
  mutating func remove(_ local: [Item.ID], below id: Item.ID?) -> Bool {
    while localOffset < local.count {
      let next = local[localOffset]
      let previous = localOffset > 0 ? local[localOffset - 1] : previousLocal
      if let previous, !(previous < next) {
        guard previous == next else {
          failure = Self.unsorted("local identity", next)
          return false
        }
      } else {
        if let id, !(next < id) { return true }
        unfinished.removals.append(next)
      }
      localOffset += 1
    }
    return isLocalEnded
  }

  /// Sorts an item into its kind, once the local identities below it are gone.
  @inlinable
  mutating func take(_ item: Item, isLocal: Bool) {
    lastPosition = pagePosition + sourceOffset
    if isLocal {
      asked.append(item)
      askedPositions.append(lastPosition)
      localOffset += 1
    } else {
      candidates.append(Candidate(position: lastPosition, item: item))
    }
    sourceOffset += 1
  }

  /// Leaves out an item that does not ascend.
  @inlinable
  mutating func refuse(_ id: Item.ID, isDuplicate: Bool) {
    guard isDuplicate else {
      failure = Self.unsorted("item of the source", id)
      return
    }
    unfinished.duplicates.append(
      MirrorDuplicate(
        id: id, position: pagePosition + sourceOffset, firstPosition: lastPosition))
    sourceOffset += 1
  }

  @inlinable
  static func unsorted(_ subject: String, _ id: Item.ID) -> MirrorError {
    MirrorError(
      .unsortedList,
      "\(subject) \(id) does not ascend; sort both sides in one order, or compare them unsorted")
  }
}
