/// The number of foreign keys of each table whose row is missing, by the table that they refer to.
///
/// Names are kept in lower case: SQLite ignores the case of ASCII letters.
struct ForeignKeyViolations {
  private struct Reference: Hashable, Comparable {
    let table: String
    let parent: String

    static func < (one: Reference, other: Reference) -> Bool {
      (one.table, one.parent) < (other.table, other.parent)
    }
  }

  private struct Count: RowDecodable {
    static let columnNames = ["parent", "count"]

    let parent: String
    let count: Int

    init(row: inout RowDecoder) throws {
      parent = try row.next()
      count = try row.next()
    }
  }

  private let tables: Set<String>
  private var counts: [Reference: Int] = [:]
  /// The tables with declarations that fit no parent's key, so that SQLite cannot count.
  private var misfits: [String: DatabaseError] = [:]

  init(_ transaction: borrowing WriteTransaction) throws {
    tables = Set(
      try transaction.fetchValues("SELECT lower(name) FROM sqlite_schema WHERE type = 'table'"))
    let children: [String] = try transaction.fetchValues(
      """
      SELECT lower(name) FROM sqlite_schema WHERE type = 'table'
        AND EXISTS (SELECT 1 FROM pragma_foreign_key_list(name))
      """)
    for table in children {
      do {
        let found = try transaction.fetchAll(
          """
          SELECT lower("parent") AS "parent", count(*) AS "count"
          FROM pragma_foreign_key_check(\(table)) GROUP BY 1
          """, as: Count.self)
        for violation in found {
          counts[Reference(table: table, parent: violation.parent)] = violation.count
        }
      } catch let error as DatabaseError where error.code == .error {
        misfits[table] = error
      }
    }
  }

  /// Throws if there are more now than earlier.
  ///
  /// Those of a table that is gone may be those of a new one: the table may have been renamed.
  func check(
    since earlier: ForeignKeyViolations, after name: String, path: String
  ) throws(DatabaseError) {
    var renamedCount = earlier.counts.filter { isGone($0.key.table) || isGone($0.key.parent) }
      .values.reduce(0, +)
    for (reference, count) in counts.sorted(by: { $0.key < $1.key })
    where earlier.misfits[reference.table] == nil {
      let before = earlier.counts[reference, default: 0]
      let isNew = !earlier.tables.isSuperset(of: [reference.table, reference.parent])
      if isNew, count <= renamedCount {
        renamedCount -= count
      } else if count > before {
        throw error(
          "\(reference.table) would have \(count) references to rows of \(reference.parent) that "
            + "do not exist; before it, it had \(before)", after: name, path: path)
      }
    }
    let hasNoNewMisfit = misfits.keys.allSatisfy { table in
      earlier.misfits[table] != nil || earlier.misfits.keys.contains(where: isGone)
    }
    if !hasNoNewMisfit, let misfit = misfits.min(by: { $0.key < $1.key })?.value { throw misfit }
  }

  private func isGone(_ table: String) -> Bool { !tables.contains(table) }

  private func error(_ message: String, after name: String, path: String) -> DatabaseError {
    DatabaseError(
      code: .constraint, message: "after \(name), \(message)", path: path)
  }
}
