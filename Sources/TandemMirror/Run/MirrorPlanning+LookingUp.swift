extension MirrorPlanning {
  /// In ``positions``, an identity that the source has not shown so far.
  @usableFromInline static var localOnly: Int { -1 }
  /// In ``positions``, one that is to be removed.
  @usableFromInline static var removed: Int { -2 }

  /// Compares what there is by a hash table of all identities.
  @inlinable
  mutating func lookUp() {
    addToTable()
    guard isLocalEnded else { return }
    while sourceOffset < source.count {
      lookUp(source[sourceOffset], position: pagePosition + sourceOffset)
      sourceOffset += 1
    }
    if isSourceEnded { removeRest() }
  }

  /// Enters the local identities that have come since the last call.
  @inlinable
  mutating func addToTable() {
    if positions.isEmpty { positions.reserveCapacity(local.count) }
    while localOffset < local.count {
      positions[local[localOffset]] = Self.localOnly
      localOffset += 1
    }
  }

  @inlinable
  mutating func lookUp(_ item: Item, position: Int) {
    let known = positions.updateValue(position, forKey: item.id)
    guard let known else {
      candidates.append(Candidate(position: position, item: item))
      return
    }
    if known == Self.localOnly {
      ask(sourceOffset..<sourceOffset + 1)
    } else {
      positions[item.id] = known
      unfinished.duplicates.append(
        MirrorDuplicate(id: item.id, position: position, firstPosition: known))
    }
  }

  /// Plans to remove what the source has not shown.
  @inlinable
  mutating func removeRest() {
    for id in local where positions[id] == Self.localOnly {
      positions[id] = Self.removed
      unfinished.removals.append(id)
    }
  }

  /// Where the current page has an item, by the table.
  @inlinable
  func offsetByTable(of id: Item.ID) -> Int? {
    guard let position = positions[id], position >= pagePosition else { return nil }
    return position - pagePosition
  }
}
