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
    var parked = ParkedFields(fields: fields, isWhole: row[1] == 1)
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

  /// Sets the fields of a record that its table cannot hold; `nil` if it can hold all.
  ///
  /// A record that has no row, and should have one, is noted in `tandem_rejected` until it has one.
  func park(_ parked: ParkedFields?, _ key: SyncKey) throws {
    let place: [FieldValue] = [.text(key.table), .blob(key.canonicalBytes)]
    let former = try self.parked(key)
    let old = former.flatMap { $0.isWhole ? $0.fields : nil }
    let new = parked.flatMap { $0.isWhole ? $0.fields : nil }
    // The note of the same record may have been discarded.
    if !old.hasSameStorage(as: new) { try noteParked(new, parked?.reason, key) }
    guard let parked else {
      return try run("DELETE FROM tandem_parked WHERE \"table\" = ? AND \"key\" = ?", place)
    }
    isWithoutParked = false
    try run(
      """
      INSERT OR REPLACE INTO tandem_parked ("table", "key", id, fields, is_whole, reason, others)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """,
      place + [
        .text(key.idText), .text(parked.fields.text), parked.isWhole ? 1 : 0,
        parked.reason.map { .text($0) } ?? .null,
        (parked.isWhole ? parked.others ?? former?.others : nil).map { .text($0.text) } ?? .null,
      ])
  }
}
