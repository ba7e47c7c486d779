internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

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
  /// The fields that belong together when a commit is made. An edit of one of them was made beside the values that the
  /// row shows of the others.
  var units: [Set<FieldName>] = []

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

  /// The row as it is; `nil` if there is none.
  var present: Record? {
    guard case .values(let values) = row else { return nil }
    return Record(uncheckedLayout: table.layout, values: values)
  }

  /// The row as Tandem left it; `nil` if there was none.
  var seen: Record? {
    guard let shadow else { return present }
    guard case .values(let former) = shadow else { return nil }
    return Record(uncheckedLayout: table.layout, values: former)
  }

  /// The record at the replica's revision; `nil` if there was none.
  var base: Record? {
    if parked?.isDeletion ?? false { return nil }
    if let seen { return overlaid(seen) }
    switch (shadow, row) {
    case (.unreadable?, _), (nil, .unreadable): return nil
    default: return parked.flatMap { $0.isWhole ? $0.fields : nil }
    }
  }

  /// The record as it is: the base with the fields in which the row differs from the one that Tandem left. `nil` if there
  /// is none.
  var local: Record? {
    guard let shadow else { return base }
    guard let present else {
      guard case (.absent, .missing) = (shadow, row) else { return nil }
      return base
    }
    guard let parked else { return present }
    let seen = seen
    let names = table.columnNames
    if parked.isDeletion {
      // An edit revives the row.
      let isEdited = seen.map { seen in !present.hasSameStorage(as: seen) } ?? false
      return isEdited ? overlaid(present) : nil
    }
    let edited = names.indices.filter { offset in
      let value = present.values[offset]
      return seen.map { !$0.values[offset].hasSameStorage(as: value) } ?? !isAltered(offset, value)
    }
    return overlaid(present).with(edited.map { names[$0] } + namesBesideEdits, of: present)
  }

  /// The columns in which the row shows another value than that of the space, beside an edit of a field that belongs
  /// to them.
  private var namesBesideEdits: [String] {
    guard !units.isEmpty, let parked, parked.extent == .fields, parked.reason != nil, let seen,
      let present
    else { return [] }
    return parked.fields.layout.names.filter { name in
      table.layout.offset(of: name) != nil
        && units.contains { unit in
          unit.contains(FieldName(name))
            && unit.contains { !present[$0.text].hasSameStorage(as: seen[$0.text]) }
        }
    }
  }

  /// This row when a commit is made. The fields of a record that is merged as a whole belong together as well, unless a
  /// column can never show what the space has: no edit of the record would leave this file any more.
  func with(units: [Set<FieldName>]) -> ReplicaRow {
    var row = self
    row.units = units
    guard table.declaration.granularity == .record else { return row }
    row.units = [Set(table.columnNames.map { FieldName($0) })]
    if row.showsAlteredValuesBesideEdits { row.units = units }
    return row
  }

  /// True if one of these columns cannot store values such as that of the space.
  var showsAlteredValuesBesideEdits: Bool {
    let names = namesBesideEdits
    let unstorable = names.isEmpty ? nil : parked.flatMap { table.unstorableFields(of: $0.fields) }
    return names.contains { unstorable?.layout.offset(of: $0) != nil }
  }

  /// True if a program wrote the row anew while the record of the space was kept beside the table.
  /// It has not seen that record.
  var isWrittenAnew: Bool {
    guard case .absent? = shadow, present != nil else { return false }
    return parked?.isWhole ?? false
  }

  /// The version of the space that a program changed or deleted without having seen it, because the table
  /// did not accept it, and the version that the row had instead; `nil` if that is not so.
  var unseen: (version: Record, seen: Record?)? {
    guard let version = base else { return nil }
    if isWrittenAnew { return (version, nil) }
    guard isTouched, !isUnreadable, let seen, let parked, parked.extent == .fields,
      parked.reason != nil
    else { return nil }
    let isReplaced = parked.fields.layout.names.contains { name in
      table.layout.offset(of: name) != nil
        && !(present.map { $0[name].hasSameStorage(as: seen[name]) } ?? false)
    }
    return isReplaced || present == nil || !namesBesideEdits.isEmpty ? (version, seen) : nil
  }

  /// The version that local edits were made from; `nil` if there was none.
  var seenBase: Record? {
    guard let unseen else { return base }
    guard let seen = unseen.seen, let parked else { return nil }
    guard let local, let present else { return seen }
    // An edit may have led to the value that the space has.
    let others = parked.fields.layout.names.filter { name in
      !local[name].hasSameStorage(as: unseen.version[name])
        || !present[name].hasSameStorage(as: seen[name])
    }
    return unseen.version.with(others + namesBesideEdits, of: seen)
  }

  /// True if the value of a column is what the column stores for a field that the table cannot hold.
  private func isAltered(_ offset: Int, _ value: FieldValue) -> Bool {
    guard let parked, parked.extent == .fields,
      let field = parked.fields.layout.offset(of: table.columnNames[offset])
    else { return false }
    return table.altered(parked.fields.values[field], at: offset).hasSameStorage(as: value)
  }

  /// The fields of a record of the space that the row does not have, or did not have before it was touched;
  /// `nil` if there is no such row.
  func fieldsMissing(of record: Record) -> Record? {
    guard let values = seen?.values else { return nil }
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
    guard parked?.extent == .fields, let version, let local, let present else { return version }
    let changed = table.columnNames.filter { !version[$0].hasSameStorage(as: local[$0]) }
    return present.with(changed, of: version)
  }

  /// A record of the table's columns, with the fields that the table cannot hold.
  private func overlaid(_ record: Record) -> Record {
    parked.map { record.with($0.fields.layout.names, of: $0.fields) } ?? record
  }
}

extension Record {
  /// This record with some fields of another one.
  func with(_ names: [String], of other: Record) -> Record {
    names.reduce(into: self) { record, name in
      let value = other[name]
      record[field: FieldName(name)] = value.isNull ? nil : value
    }
  }
}
