/// A part of a base that local or remote changes touch, and the parts that replace it.
struct MergeRegion: Equatable {
  var base: Range<Int>
  var local: Range<Int>
  var remote: Range<Int>
  var isChangedLocally: Bool
  var isChangedRemotely: Bool

  /// Returns the regions of two sets of changes of one base, in order. Changes that touch are in
  /// one region.
  static func regions(local: [RangePair], remote: [RangePair]) -> [MergeRegion] {
    var local = ChangeCursor(local)
    var remote = ChangeCursor(remote)
    var regions: [MergeRegion] = []
    while let start = [local.next, remote.next].compactMap({ $0 }).min() {
      let (localStart, remoteStart) = (start + local.shift, start + remote.shift)
      var end = start
      var (isChangedLocally, isChangedRemotely) = (false, false)
      var isGrowing = true
      while isGrowing {
        let isLocal = local.pass(touching: &end)
        let isRemote = remote.pass(touching: &end)
        isChangedLocally = isChangedLocally || isLocal
        isChangedRemotely = isChangedRemotely || isRemote
        isGrowing = isLocal || isRemote
      }
      regions.append(
        MergeRegion(
          base: start..<end, local: localStart..<end + local.shift,
          remote: remoteStart..<end + remote.shift,
          isChangedLocally: isChangedLocally, isChangedRemotely: isChangedRemotely))
    }
    return regions
  }
}

/// An iteration through one side's changes, with the distance by which they move the text after
/// them.
private struct ChangeCursor {
  private let changes: [RangePair]
  private var index = 0
  private(set) var shift = 0

  init(_ changes: [RangePair]) {
    self.changes = changes
  }

  /// The start of the next change in the base.
  var next: Int? { index < changes.count ? changes[index].old.lowerBound : nil }

  /// Passes the changes that begin at or before `end`, and moves `end` to the end of the last of
  /// them. Returns `false` if there is none.
  mutating func pass(touching end: inout Int) -> Bool {
    let first = index
    while index < changes.count, changes[index].old.lowerBound <= end {
      let change = changes[index]
      end = max(end, change.old.upperBound)
      shift += change.new.count - change.old.count
      index += 1
    }
    return index > first
  }
}
