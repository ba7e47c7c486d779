internal import TandemRecords

/// Digests of the pages of a table in one snapshot, by which a later snapshot finds the rows that may
/// have changed since, whoever changed them.
///
/// The digests are 64 bits, by a hash function with a secret of this process. A page of 4 KiB takes
/// about 40 bytes.
package struct TableDigests: Sendable {
  private struct Leaf {
    var page: UInt32
    var digest: Int
    var rowids: ClosedRange<Int64>?
  }

  private let table: String
  /// The version of the schema, by which the bytes of a row have a meaning.
  private let schemaVersion: Int64
  private var leaves: [Leaf] = []
  /// The keys that were touched between the snapshot and the last state of the caller.
  private var touched = TouchedKeys()

  /// Reads all pages of a table.
  ///
  /// - Parameters:
  ///   - table: A table whose rows are identified by their rowids.
  ///   - maxPageCount: The most pages of rows that are read.
  ///   - connection: A connection with an open transaction, as ``DatabaseConnection/beginSnapshot()``
  ///     begins it.
  /// - Returns: `nil` if the table has more pages, or their form is unknown.
  package init?(
    table: String, maxPageCount: Int, in connection: DatabaseConnection
  ) throws(DatabaseError) {
    self.table = table
    schemaVersion = try connection.beginSnapshot()
    guard
      let leaves = try TableDigests.leaves(of: table, maxPageCount: maxPageCount, in: connection)
    else { return nil }
    self.leaves = leaves
  }

  private static func leaves(
    of table: String, maxPageCount: Int, in connection: DatabaseConnection
  ) throws(DatabaseError) -> [Leaf]? {
    guard let stored = try connection.storedTable(table), let pages = try DatabasePages(connection)
    else { return nil }
    do throws(PageFault) {
      let table = try TableLeaves(root: stored.root, in: pages)
      guard table.numbers.count <= maxPageCount else { return nil }
      var leaves: [Leaf] = []
      leaves.reserveCapacity(table.numbers.count)
      for number in table.numbers.sorted() {
        var hasher = Hasher()
        _ = try table.forEachPage(ofLeaf: number) { page throws(PageFault) in
          hasher.combine(bytes: try pages.page(page))
          return true
        }
        leaves.append(
          Leaf(
            page: number, digest: hasher.finalize(), rowids: try table.rowids(ofPage: number)))
      }
      try pages.checkAreOfSnapshot()
      return leaves
    } catch {
      return nil
    }
  }

  /// Notes rows that have been touched since the snapshot, and that the caller knows.
  package mutating func note(_ keys: TouchedKeys) { touched.formUnion(keys) }

  /// Advances to the open snapshot of a connection.
  ///
  /// - Parameters:
  ///   - maxRowidCount: The most rowids of pages that differ.
  ///   - connection: As for the first snapshot.
  /// - Returns: The keys of all rows that may differ from those of any state since the snapshot before:
  ///   of each page that differs, every rowid between its first and its last row. `nil` if they are too
  ///   many, the schema has changed, or the pages cannot be read; then this is of no use any more.
  package mutating func advance(
    maxRowidCount: Int, in connection: DatabaseConnection
  ) throws(DatabaseError) -> TouchedKeys? {
    guard try connection.schemaVersion() == schemaVersion,
      let new = try TableDigests.leaves(of: table, maxPageCount: .max, in: connection)
    else { return nil }
    let ranges = TableDigests.differentRowids(from: leaves, to: new)
    guard let rowids = ranges.rowids(maxCount: maxRowidCount) else { return nil }
    var keys = touched
    for rowid in rowids { keys.insert(RecordKey(.integer(rowid))) }
    leaves = new
    touched = TouchedKeys()
    return keys
  }

  /// The rowids of the pages that differ, on either side.
  private static func differentRowids(from old: [Leaf], to new: [Leaf]) -> RowidRanges {
    var ranges: [ClosedRange<Int64>] = []
    var rest = old[...]
    func add(_ leaf: Leaf) { if let rowids = leaf.rowids { ranges.append(rowids) } }
    for leaf in new {
      while let former = rest.first, former.page < leaf.page {
        add(former)
        rest.removeFirst()
      }
      if let former = rest.first, former.page == leaf.page {
        rest.removeFirst()
        if former.digest == leaf.digest { continue }
        add(former)
      }
      add(leaf)
    }
    rest.forEach(add)
    return RowidRanges(union: ranges)
  }
}
