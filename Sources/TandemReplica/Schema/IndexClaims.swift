internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// The values of records in the unique indexes that the space cannot compute: each commit states them.
struct IndexClaims {
  /// The indexes of each table.
  private(set) var values: [FieldName: [IndexValues]] = [:]
  /// The tables with a pending index: their records are to have a value as soon as possible, so every change states it.
  private(set) var pending: Set<FieldName> = []
  /// The reason for which this file cannot compute an index of a table.
  private(set) var faults: [FieldName: String] = [:]

  /// Those of all indexes that these tables of the space, or of the file, have. The space keeps the first definition of
  /// an index, so its tables come first.
  init(_ tables: [SpaceTable]) {
    var seen: [FieldName: Set<SpaceIndex>] = [:]
    for table in tables {
      let name = FieldName(table.name)
      for constraint in (table.constraints ?? []) + table.pending.map(\.constraint) {
        guard let index = constraint.index, seen[name, default: []].insert(index).inserted
        else { continue }
        do {
          values[name, default: []].append(try IndexValues(index, of: table))
          if table.pending.contains(where: { $0.constraint == constraint }) { pending.insert(name) }
        } catch {
          faults[name] =
            "this program cannot compute the unique index \(index.name): \(error.message)"
        }
      }
    }
  }

  /// The values that a change states.
  ///
  /// - Parameter record: The record after the change.
  func claims(
    of verb: SyncChange.Verb, _ key: SyncKey, _ record: Record?
  ) throws(DatabaseError) -> [String: [FieldValue]] {
    guard !values.isEmpty, let values = values[FieldName(key.table)] else { return [:] }
    var claims: [String: [FieldValue]] = [:]
    for value in values {
      switch verb {
      case .insert(let fields): claims[value.index.sql] = try value.values(of: key.id, fields)
      case .update(let fields), .add(let fields):
        guard let record,
          pending.contains(FieldName(key.table)) || value.index.depends(on: fields.layout.names)
        else { continue }
        claims[value.index.sql] = try value.values(of: key.id, record)
      case .delete: break
      }
    }
    return claims
  }
}
