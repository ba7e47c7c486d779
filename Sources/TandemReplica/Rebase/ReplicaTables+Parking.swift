internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

extension ReplicaTables {
  /// The fields of a record that its table cannot hold.
  func parked(_ key: SyncKey) throws -> ParkedFields? {
    if isWithoutParked { return nil }
    let rows = try rows(
      """
      SELECT fields, is_whole, reason, others FROM tandem_parked WHERE "table" = ? AND "key" = ?
      """, [.text(key.table), .blob(key.canonicalBytes)])
    guard let row = rows.first, let fields = try record(row[0], of: "tandem_parked") else {
      return nil
    }
    guard case .integer(let number) = row[1], let extent = ParkedFields.Extent(rawValue: number)
    else { throw ReplicaError.damaged("tandem_parked", connection.path) }
    var parked = ParkedFields(fields: fields, extent: extent)
    if case .text(let reason) = row[2] { parked.reason = reason }
    parked.others = try record(row[3], of: "tandem_parked")
    return parked
  }

  /// The record that a column of one of Tandem's tables has as JSON; `nil` if it is null.
  func record(_ value: FieldValue, of name: String) throws -> Record? {
    guard case .text(let text) = value else { return nil }
    guard let record = try? SyncMessageReader(limits: .unlimited).fields(Array(text.utf8)) else {
      throw ReplicaError.damaged(name, connection.path)
    }
    return record
  }

  /// Sets the part of a record that its row does not have; `nil` if it has all.
  ///
  /// A version that the table does not accept is noted in `tandem_kept` until it has its row.
  func park(_ parked: ParkedFields?, _ key: SyncKey) throws {
    let place: [FieldValue] = [.text(key.table), .blob(key.canonicalBytes)]
    let former = try self.parked(key)
    // The note of the same version may have been discarded.
    if !former.hasSameNote(as: parked) { try noteParked(parked, key) }
    guard let parked else {
      guard former != nil else { return }
      return try run("DELETE FROM tandem_parked WHERE \"table\" = ? AND \"key\" = ?", place)
    }
    isWithoutParked = false
    try run(
      """
      INSERT OR REPLACE INTO tandem_parked ("table", "key", id, fields, is_whole, reason, others)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """,
      place + [
        .text(key.idText), .text(parked.fields.text), .integer(parked.extent.rawValue),
        parked.reason.map { .text($0) } ?? .null,
        (parked.isWhole ? parked.others ?? former?.others : nil).map { .text($0.text) } ?? .null,
      ])
  }

  /// The records of which the table does not accept the space's version, in the order of their keys.
  func withheldKeys() throws -> [SyncKey] { try parkedKeys("reason NOT NULL") }

  /// The records with a part that their row does not have, in the order of their keys.
  func parkedKeys(_ condition: String = "TRUE") throws -> [SyncKey] {
    if isWithoutParked { return [] }
    return try rows("SELECT \"table\", id FROM tandem_parked WHERE \(condition)").map { row in
      guard case .text(let table) = row[0], case .text(let text) = row[1],
        let id = try? SyncMessageReader().id(Array(text.utf8))
      else { throw ReplicaError.damaged("tandem_parked", connection.path) }
      return SyncKey(table: table, id: id)
    }
  }
}

extension Optional where Wrapped == ParkedFields {
  /// True if both have the same note in `tandem_kept`, or none.
  fileprivate func hasSameNote(as other: ParkedFields?) -> Bool {
    let notes = [self, other].map { $0.flatMap { $0.reason == nil ? nil : $0 } }
    switch (notes[0], notes[1]) {
    case (let one?, let other?):
      return one.extent == other.extent && one.fields.hasSameStorage(as: other.fields)
    case (nil, nil): return true
    default: return false
    }
  }
}
