internal import TandemRecords
internal import TandemSQLite

/// The part of the space's version of a record that its row does not have.
struct ParkedFields {
  /// The part.
  enum Extent: Int64 {
    /// Some fields: the table cannot hold them as they are, or does not accept the version, so that
    /// the row stays as it was.
    case fields
    /// All of it: there is no row, because a constraint forbids it or its key would be altered, or
    /// because the file has no such table.
    case record
    /// The deletion: the row is still here, because others refer to it.
    case deletion
  }

  /// The fields; none of a deletion.
  var fields: Record
  var extent: Extent
  /// The reason for which the table does not accept the version. It is tried again whenever a pull is
  /// applied. `nil` if the table cannot hold the fields, or the file has no such table.
  var reason: String?
  /// The values that the former row had in columns that are not synchronized, by their names.
  var others: Record?

  /// True if there is no row.
  var isWhole: Bool { extent == .record }
  /// True if the space has deleted the record.
  var isDeletion: Bool { extent == .deletion }

  /// The deletion of a row that is still here. It keeps the fields for which the table has no column: the row
  /// may come back.
  static func deletion(_ reason: String, of row: ReplicaRow) -> ParkedFields {
    let fields = row.parked?.fields
    let names = (fields?.layout.names ?? []).filter { row.table.layout.offset(of: $0) == nil }
    return ParkedFields(
      fields: Record(
        uncheckedLayout: RecordLayout(uniqueNames: names),
        values: names.map { fields?[$0] ?? .null }),
      extent: .deletion, reason: reason)
  }
}

/// All that a replica knows about one record: its row as it is, the row as it was at the replica's
/// revision, and fields that the table cannot hold.
struct ReplicaRow {
  /// A former version.
  enum Shadow {
    /// There was no row.
    case absent
    /// The values of the columns.
    case values([FieldValue])
    /// The row had a text that is not UTF-8.
    case unreadable

    /// Reads the column `tandem_existed`, which is null if there is no former version, and the
    /// others.
    init?(
      _ statement: Statement, existed: Int, _ columns: Range<Int>
    ) throws(DatabaseError) {
      switch try statement.value(at: existed) {
      case .null: return nil
      case 1: break
      default:
        self = .absent
        return
      }
      do throws(DatabaseError) {
        self = .values(try statement.values(in: columns))
      } catch  where error.code == .mismatch {
        self = .unreadable
      }
    }
  }

  /// A row as it is.
  enum Current {
    /// There is no row.
    case missing
    /// The values of the columns.
    case values([FieldValue])
    /// The row has a text that is not UTF-8, which no message can hold.
    case unreadable

    /// Reads a column of the key, which is null if there is no row, and the others.
    init(_ statement: Statement, key: Int, _ columns: Range<Int>) throws(DatabaseError) {
      do throws(DatabaseError) {
        if try statement.value(at: key).isNull {
          self = .missing
          return
        }
        self = .values(try statement.values(in: columns))
      } catch  where error.code == .mismatch {
        self = .unreadable
      }
    }
  }

  /// Reads a row and its former version: a column of the key, which is null if there is no row, the
  /// columns of the row, `tandem_existed`, and the columns of the former version.
  static func versions(
    _ statement: Statement, at start: Int, columnCount count: Int
  ) throws(DatabaseError) -> (row: Current, shadow: Shadow?) {
    let existed = start + 1 + count
    return (
      try Current(statement, key: start, (start + 1)..<existed),
      try Shadow(statement, existed: existed, (existed + 1)..<(existed + 1 + count))
    )
  }

  let table: ReplicaTable
  /// The former version, if the row may have changed.
  var shadow: Shadow?
  /// The row.
  var row: Current
  /// The fields that the table cannot hold.
  var parked: ParkedFields?

  /// True if the row may have changed since the replica's revision.
  var isTouched: Bool { shadow != nil }

  /// The row as it is once its changes are part of the base.
  var asBase: ReplicaRow {
    var row = self
    row.shadow = nil
    return row
  }

  /// True if the row or its former version cannot be read.
  var isUnreadable: Bool {
    if case .unreadable = row { return true }
    if case .unreadable? = shadow { return true }
    return false
  }

  /// The record at the replica's revision; `nil` if there was none.
  var base: Record? {
    if parked?.isDeletion ?? false { return nil }
    return switch (shadow, row) {
    case (.values(let values)?, _), (nil, .values(let values)): overlaid(values)
    case (.absent?, _), (nil, .missing): parked.flatMap { $0.isWhole ? $0.fields : nil }
    case (.unreadable?, _), (nil, .unreadable): nil
    }
  }

  /// True if a program wrote the row anew while the record of the space was kept beside the table.
  /// It has not seen that record.
  var isWrittenAnew: Bool {
    guard case .absent? = shadow, case .values = row else { return false }
    return parked?.isWhole ?? false
  }

  /// The version of the space that a program changed or deleted without having seen it, because the table
  /// did not accept it, and the version that the row had instead; `nil` if that is not so.
  var unseen: (version: Record, seen: Record?)? {
    guard let version = base else { return nil }
    if isWrittenAnew { return (version, nil) }
    guard let parked, parked.extent == .fields, parked.reason != nil,
      case .values(let former)? = shadow
    else { return nil }
    switch row {
    case .missing: break
    case .unreadable: return nil
    case .values(let values):
      let isReplaced = values.indices.contains { offset in
        parked.fields.layout.offset(of: table.columnNames[offset]) != nil
          && !values[offset].hasSameStorage(as: former[offset])
      }
      guard isReplaced else { return nil }
    }
    return (version, Record(uncheckedLayout: table.layout, values: former))
  }

  /// The version that local edits were made from; `nil` if there was none.
  var seenBase: Record? {
    guard let unseen else { return base }
    guard let seen = unseen.seen, let parked else { return nil }
    guard let local, let present else { return seen }
    var base = unseen.version
    // An edit may have led to the value that the space has.
    for name in parked.fields.layout.names
    where !local[name].hasSameStorage(as: base[name])
      || !present[name].hasSameStorage(as: seen[name])
    {
      base[field: FieldName(name)] = seen[name].isNull ? nil : seen[name]
    }
    return base
  }

  /// The record as it is; `nil` if there is none.
  var local: Record? {
    guard let shadow else { return base }
    if parked?.isDeletion ?? false { return revived }
    if parked == nil, case .values(let values) = row {
      return Record(uncheckedLayout: table.layout, values: values)
    }
    switch (shadow, row) {
    case (.absent, .missing): return base
    case (_, .missing), (_, .unreadable): return nil
    case (.values(let former), .values(let values)):
      var record = overlaid(values)
      for offset in values.indices where !values[offset].hasSameStorage(as: former[offset]) {
        record[field: FieldName(table.layout.names[offset])] =
          values[offset].isNull ? nil : values[offset]
      }
      return record
    case (_, .values(let values)):
      var record = overlaid(values)
      for (offset, name) in table.layout.names.enumerated() where !isAltered(offset, values) {
        record[field: FieldName(name)] = values[offset].isNull ? nil : values[offset]
      }
      return record
    }
  }

  /// True if the value of a column is what the column stores for a field that the table cannot hold.
  private func isAltered(_ offset: Int, _ values: [FieldValue]) -> Bool {
    guard let parked, parked.extent == .fields,
      let field = parked.fields.layout.offset(of: table.columnNames[offset])
    else { return false }
    return table.altered(parked.fields.values[field], at: offset)
      .hasSameStorage(as: values[offset])
  }

  /// The fields of a record of the space that the row does not have, or did not have before it was touched;
  /// `nil` if there is no such row.
  func fieldsMissing(of record: Record) -> Record? {
    let values: [FieldValue]
    switch (shadow, row) {
    case (.values(let former)?, _), (nil, .values(let former)): values = former
    case (.absent?, _), (.unreadable?, _), (nil, .missing), (nil, .unreadable): return nil
    }
    var fields: [(name: String, value: FieldValue)] = []
    for (offset, name) in table.columnNames.enumerated()
    where !values[offset].hasSameStorage(as: record[name]) {
      fields.append((name, record[name]))
    }
    for (name, value) in zip(record.layout.names, record.values)
    where table.layout.offset(of: name) == nil && !value.isNull {
      fields.append((name, value))
    }
    return Record(
      uncheckedLayout: RecordLayout(uniqueNames: fields.map(\.name)), values: fields.map(\.value))
  }

  /// The record that the row itself is to hold, so that a version becomes the local one: the fields of the
  /// space's version that the row does not have stay out of it, unless the version changes them.
  func content(for version: Record?) -> Record? {
    guard parked?.extent == .fields, let version, let local, var content = present else {
      return version
    }
    for name in table.columnNames where !version[name].hasSameStorage(as: local[name]) {
      content[field: FieldName(name)] = version[name].isNull ? nil : version[name]
    }
    return content
  }

  /// The record that the row itself has; `nil` if there is none.
  var present: Record? {
    guard case .values(let values) = row else { return nil }
    return Record(uncheckedLayout: table.layout, values: values)
  }

  /// The record of a row that the space has deleted, if it was edited since: the edit revives it.
  private var revived: Record? {
    guard case .values(let former)? = shadow, case .values(let values) = row,
      !values.indices.allSatisfy({ values[$0].hasSameStorage(as: former[$0]) })
    else { return nil }
    return overlaid(values)
  }

  /// A record of the table's columns, with the fields that the table cannot hold.
  private func overlaid(_ values: [FieldValue]) -> Record {
    var record = Record(uncheckedLayout: table.layout, values: values)
    if let parked {
      for (name, value) in zip(parked.fields.layout.names, parked.fields.values) {
        record[field: FieldName(name)] = value.isNull ? nil : value
      }
    }
    return record
  }
}
