internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

// Versions of the space that a table does not accept.

extension RowPlacing {
  /// Withholds the space's version of a record, which the table does not accept. Its row stays as it
  /// was, with its local edits if they are of other fields. Other edits are rejected. A record without a
  /// row is kept beside the table.
  mutating func withhold(_ placement: RowPlacement, _ reason: String) throws {
    var placement = placement
    try noteMissingParents(
      of: placement.table, placement.key, placement.remote,
      besides: placement.row.row.isMissing ? nil : placement.row.base)
    if let parked = placement.withheld(reason) { return try parkFields(parked, of: placement) }
    if placement.hasEdits || !placement.row.local.hasSameStorage(as: placement.row.base),
      placement.row.local != nil
    {
      if !placement.isRejected {
        try rejectEdits(
          of: placement, reason, others: tables.otherValues(placement.table, placement.key))
      }
      placement.result = placement.remote
      try dropEdits(&placement)
      if let parked = placement.withheld(reason) { return try parkFields(parked, of: placement) }
    }
    try parkWhole(placement, reason)
  }

  /// Writes a version of the space as far as its columns lose nothing: in the other fields, the row keeps its values.
  /// A row with local edits stays as it is.
  ///
  /// - Returns: The placement of the version, with the row as it is now.
  func placingWithoutLosses(_ placement: RowPlacement) throws -> RowPlacement {
    let (table, key) = (placement.table, placement.key)
    guard let remote = placement.remote, table.loses(aPartOf: remote), !placement.hasEdits,
      !placement.row.isTouched
    else { return placement }
    let part = table.withoutLosses(remote, over: placement.row.present)
    let written = RowPlacement(
      table: table, key: key, row: placement.row, remote: part, result: part)
    guard try isStored(written) else { return placement }
    var placement = placement
    placement.row.row = try tables.row(table, key).row
    return placement
  }

  /// Leaves the row of a placement as it is, and parks the fields of the space's version that it lacks.
  private func parkFields(_ parked: ParkedFields, of placement: RowPlacement) throws {
    let shadow = placement.hasEdits ? placement.row.shadow : nil
    try tables.setShadow(shadow, placement.table, placement.key)
    try tables.park(parked, placement.syncKey)
  }

  /// Gives a row its former version back. If there is none, or a constraint forbids it, the row stays as
  /// it is, because others may refer to it. In either case, its values are no edits any more.
  private func dropEdits(_ placement: inout RowPlacement) throws {
    defer { placement.row.shadow = nil }
    guard case .values(let former)? = placement.row.shadow else { return }
    let (table, key) = (placement.table, placement.key)
    let record = Record(uncheckedLayout: table.layout, values: former)
    let error = try tables.objection {
      try tables.quietly { try tables.store(record, over: placement.row.row, table, key) }
    }
    if error == nil { placement.row.row = .values(former) }
  }

  /// Parks a record beside its table, which cannot have it as a row. It is no deletion, so no
  /// trigger of the application runs.
  private func parkWhole(_ placement: RowPlacement, _ reason: String) throws {
    let (table, key) = (placement.table, placement.key)
    let others = try tables.otherValues(table, key)
    try tables.quietly { try tables.store(nil, over: placement.row.row, table, key) }
    try tables.setShadow(nil, table, key)
    try tables.park(
      placement.remote.map {
        ParkedFields(fields: $0, extent: .record, reason: reason, others: others)
      }, placement.syncKey)
  }
}

extension RowPlacement {
  /// The fields in which the row differs from the space's version. `nil` if base and local edits could not
  /// be computed from these fields, so that the row cannot stay.
  fileprivate func withheld(_ reason: String) -> ParkedFields? {
    guard case .values = row.row, let remote, let fields = row.fieldsMissing(of: remote) else {
      return nil
    }
    let parked = ParkedFields(fields: fields, extent: .fields, reason: reason)
    var after = row
    after.parked = parked
    return after.base.hasSameStorage(as: remote) && after.local.hasSameStorage(as: result)
      ? parked : nil
  }
}
