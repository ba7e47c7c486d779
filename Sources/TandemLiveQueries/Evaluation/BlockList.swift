/// A list in blocks: inserting an element moves those of its block, not all that follow.
struct BlockList<Element> {
  /// The maximum number of elements of a block.
  static var maxBlockCount: Int { 512 }

  /// The place of an element, until the list changes.
  struct Position {
    fileprivate var block: Int
    fileprivate var offset: Int
  }

  private(set) var count = 0
  /// None is empty.
  private var blocks: [[Element]] = []
  /// The number of elements of each block, so that adding them up reads no block.
  private var counts: [Int] = []

  init(_ elements: [Element]) {
    count = elements.count
    let size = BlockList.maxBlockCount / 2
    for start in stride(from: 0, to: elements.count, by: size) {
      blocks.append(Array(elements[start..<min(start + size, elements.count)]))
    }
    counts = blocks.map(\.count)
  }

  /// The elements before an offset, all of them if there are fewer.
  func prefix(_ count: Int) -> [Element] {
    var elements: [Element] = []
    elements.reserveCapacity(min(count, self.count))
    for block in blocks {
      guard elements.count < count else { break }
      elements += block.prefix(count - elements.count)
    }
    return elements
  }

  /// The element at a position, or `nil` at the end.
  subscript(position: Position) -> Element? {
    position.block < blocks.count ? blocks[position.block][position.offset] : nil
  }
}

// MARK: - Changing

extension BlockList {
  /// Inserts an element before the one at a position.
  mutating func insert(_ element: Element, at position: Position) {
    count += 1
    guard position.block < blocks.count else { return append(element) }
    blocks[position.block].insert(element, at: position.offset)
    counts[position.block] += 1
    split(position.block)
  }

  private mutating func append(_ element: Element) {
    if blocks.isEmpty {
      blocks.append([])
      counts.append(0)
    }
    blocks[blocks.count - 1].append(element)
    counts[counts.count - 1] += 1
    split(blocks.count - 1)
  }

  private mutating func split(_ block: Int) {
    let size = counts[block]
    guard size > BlockList.maxBlockCount else { return }
    blocks.insert(Array(blocks[block][(size / 2)...]), at: block + 1)
    counts.insert(size - size / 2, at: block + 1)
    blocks[block].removeLast(size - size / 2)
    counts[block] = size / 2
  }

  /// Removes the element at a position.
  mutating func remove(at position: Position) {
    count -= 1
    blocks[position.block].remove(at: position.offset)
    counts[position.block] -= 1
    if counts[position.block] == 0 { removeBlock(position.block) }
  }

  /// Removes the elements behind the first `count`.
  mutating func keepFirst(_ count: Int) {
    while self.count > count, let last = counts.last {
      let surplus = min(self.count - count, last)
      self.count -= surplus
      blocks[blocks.count - 1].removeLast(surplus)
      counts[counts.count - 1] -= surplus
      if surplus == last { removeBlock(blocks.count - 1) }
    }
  }

  private mutating func removeBlock(_ block: Int) {
    blocks.remove(at: block)
    counts.remove(at: block)
  }
}

// MARK: - Finding

extension BlockList {
  /// The position of the first element that does not precede something, or the end.
  ///
  /// - Parameter precedes: True for an element that precedes it; then it is true for all before.
  /// - Complexity: O(log *n*).
  func position(where precedes: (Element) -> Bool) -> Position {
    let block = blocks.partitioningIndex { !precedes($0[$0.count - 1]) }
    guard block < blocks.count else { return Position(block: block, offset: 0) }
    return Position(block: block, offset: blocks[block].partitioningIndex { !precedes($0) })
  }

  /// The number of elements before each block.
  ///
  /// - Complexity: O(*n* / ``maxBlockCount``), for any number of offsets to be found.
  func starts() -> BlockStarts {
    var starts: [Int] = []
    starts.reserveCapacity(blocks.count + 1)
    var sum = 0
    for count in counts {
      starts.append(sum)
      sum += count
    }
    starts.append(sum)
    return BlockStarts(starts: starts)
  }

  /// The offset of a position, given where blocks start now.
  func offset(of position: Position, _ starts: BlockStarts) -> Int {
    starts.starts[position.block] + position.offset
  }

  /// The element at an offset, which there must be, given where blocks start now.
  func element(at offset: Int, _ starts: BlockStarts) -> Element {
    let block = starts.starts.partitioningIndex { $0 > offset } - 1
    return blocks[block][offset - starts.starts[block]]
  }
}

/// The offsets of the blocks of a ``BlockList``, until it changes.
struct BlockStarts {
  fileprivate let starts: [Int]
}

extension RandomAccessCollection where Index == Int {
  /// The first index whose element satisfies a condition, as do all that follow; the end if none
  /// does.
  func partitioningIndex(where condition: (Element) -> Bool) -> Int {
    var low = startIndex
    var high = endIndex
    while low < high {
      let middle = low + (high - low) / 2
      if condition(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

extension BlockList: Sendable where Element: Sendable {}
