internal import TandemRecords

/// The claims of the records of a space, as they are before a commit.
struct StoredSpaceClaims {
  let space: SpaceTables
  let claims: SpaceClaims

  /// Calls `body` with the key and the version of each live record that makes a claim, until it returns false.
  ///
  /// - Parameter body: The key is the ``TandemSync/RecordEncoding`` of its values.
  func forEachHolder(
    of claim: SpaceClaim, _ body: (_ key: [UInt8], _ version: Int) -> Bool
  ) throws {
    guard let rule = claims.rules[claim.rule] else { return }
    switch (claim.side, rule.kind) {
    case (.offer, .keyReference(let parent)):
      let row = try space.connection.row(
        .recordVersions, [.text(parent.text), .blob(claim.value)])
      if let row, row[1].integerValue == 1 { _ = body(claim.value, try version(row[0])) }
    case (.offer, .reference(let parent)): try forEachRow(claim, parent, body)
    case (.own, _), (.stated, _), (.offer, .unique), (.offer, .index):
      try forEachRow(claim, rule.table, body)
    }
  }

  private func forEachRow(
    _ claim: SpaceClaim, _ table: FieldName, _ body: (_ key: [UInt8], _ version: Int) -> Bool
  ) throws {
    try space.connection.forEachRow(.holders, claim.parameters + [.text(table.text)]) { row in
      guard case .blob(let key) = row[0] else { throw space.damaged("a claim") }
      return body(key, try version(row[1]))
    }
  }

  /// The versions that changed a record last and that created it, deleted ones included; `nil` if the space has none
  /// with this key.
  func versions(of key: [UInt8], in table: FieldName) throws -> (changed: Int, created: Int)? {
    try space.connection.row(.recordVersions, [.text(table.text), .blob(key)]).map {
      (try version($0[0]), try version($0[2]))
    }
  }

  /// True if a record of a table changed after a version.
  func hasChanges(in table: FieldName, after version: Int) throws -> Bool {
    try space.connection.row(
      .recordChangedSince, [.integer(Int64(version)), .text(table.text)]) != nil
  }

  private func version(_ value: FieldValue) throws -> Int {
    guard case .integer(let version) = value else { throw space.damaged("a version of a record") }
    return Int(version)
  }
}
