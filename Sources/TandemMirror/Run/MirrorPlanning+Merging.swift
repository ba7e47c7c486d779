extension MirrorPlanning where Item.ID: Comparable {
  /// Compares what there is by walking both sides in step.
  @inlinable
  mutating func merge() {
    let source = source
    let local = local
    while failure == nil, sourceOffset < source.count {
      takeMatches(source, local)
      guard sourceOffset < source.count else { break }
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

  /// Takes the items from here on that both sides have in the same places, as most are.
  ///
  /// Identities are compared where they stand, never kept, which would cost a retain and a release.
  @inlinable
  mutating func takeMatches(_ source: [Item], _ local: [Item.ID]) {
    let (start, localStart) = (sourceOffset, localOffset)
    guard start > 0, localStart > 0 else { return }  // The page before has the predecessor.
    let count = source.withUnsafeBufferPointer { source in
      local.withUnsafeBufferPointer { local in
        let maxCount = min(source.count - start, local.count - localStart)
        guard maxCount > 0, local[localStart - 1] < local[localStart] else { return 0 }
        var count = 0
        while count < maxCount, source[start + count].id == local[localStart + count],
          source[start + count - 1].id < source[start + count].id
        {
          count += 1
        }
        return count
      }
    }
    guard count > 0 else { return }
    ask(start..<start + count)
    sourceOffset += count
    localOffset += count
    lastPosition = pagePosition + sourceOffset - 1
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
      ask(sourceOffset..<sourceOffset + 1)
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

  /// Where the current page first has an item, by binary search.
  @inlinable
  func offsetBySearch(of id: Item.ID) -> Int? {
    var (low, high) = (0, source.count)
    while low < high {
      let middle = (low + high) / 2
      if source[middle].id < id { low = middle + 1 } else { high = middle }
    }
    return low < source.count && source[low].id == id ? low : nil
  }
}
