import Tandem

/// The conflicts of a phone, and a choice that overrules what was done.
extension Phone {
  /// A conflict for the page: the three versions of the fields in question.
  struct ConflictCard: Encodable {
    let id: Int64
    let title: String
    let kind: String
    let resolution: String
    let base: String?
    let local: String?
    let remote: String?
    /// The values that the row has now; `nil` if there is no row.
    let present: String?
  }

  private static let maxResolvedCount = 3

  /// The open conflicts, newest first, and the last resolved ones.
  func conflictCards() async throws -> [ConflictCard] {
    let conflicts = try await replica.keptEdits(.conflicts, includingResolved: true).reversed()
    let open = conflicts.filter { $0.resolution == .unresolved }
    let resolved = conflicts.filter { $0.resolution != .unresolved }.prefix(Phone.maxResolvedCount)
    let shown = open + resolved
    return zip(shown, try await presentTexts(of: shown)).map { conflict, present in
      let fields = conflict.fields ?? conflict.fieldsOfBothSides
      func text(_ version: Record?) -> String? {
        version.map { version in
          conflict.shownFields.map { "\(version[$0].plainText)" }.joined(separator: ", ")
        }
      }
      let name =
        [conflict.local, conflict.base, conflict.remote].compactMap { $0?["name"].plainText }.first
        ?? ""
      return ConflictCard(
        id: conflict.id,
        title: fields.map { names in
          names.joined(separator: ", ").capitalizedFirst + " of "
            + (names.contains("name") ? "a \(conflict.table)" : name)
        } ?? "\(name), a \(conflict.table)",
        kind: conflict.kind.rawValue, resolution: conflict.resolution.rawValue,
        base: text(conflict.base),
        local: text(conflict.local), remote: text(conflict.remote), present: present)
    }
  }

  /// The values of the rows in conflict as they are now; `nil` for a row that is gone.
  private func presentTexts(of conflicts: [KeptEdit]) async throws -> [String?] {
    try await database.read { transaction in
      try conflicts.map { conflict in
        guard case .text(let key)? = conflict.primaryKey.first else { return nil }
        let values = try conflict.shownFields.compactMap { name in
          try transaction.fetchValue(
            """
            SELECT coalesce(\(identifier: name), 'nothing') || '' FROM \(identifier: conflict.table)
            WHERE \(identifier: conflict.keyColumn) = \(key)
            """, as: String.self)
        }
        return values.isEmpty ? nil : values.joined(separator: ", ")
      }
    }
  }

  /// Chooses a version. Of an open conflict, the replica knows the versions; after a resolved one,
  /// the choice is an edit like any other.
  func resolve(_ choice: Choice) async throws {
    guard
      let conflict = try await replica.keptEdits(.conflicts, includingResolved: true)
        .first(where: { $0.id == choice.id })
    else { return }
    if conflict.resolution == .unresolved {
      let version: KeptEdit.Choice =
        choice.choice == "local" ? .local : choice.choice == "base" ? .base : .remote
      try await replica.resolve(.one(choice.id), by: version)
      return
    }
    let versions = ["base": conflict.base, "local": conflict.local, "remote": conflict.remote]
    guard let version = versions[choice.choice] ?? nil,
      case .text(let key)? = conflict.primaryKey.first
    else { return }
    try await database.write { transaction in
      for field in conflict.shownFields {
        try transaction.execute(
          """
          UPDATE \(identifier: conflict.table) SET \(identifier: field) = \(version[field])
          WHERE \(identifier: conflict.keyColumn) = \(key)
          """)
      }
    }
  }
}

extension KeptEdit {
  fileprivate var keyColumn: String { table == "place" ? "zone" : "id" }

  /// The fields in question; all if it is the record as a whole.
  fileprivate var shownFields: [String] {
    fields ?? fieldsOfBothSides ?? (local ?? remote ?? base)?.layout.names ?? []
  }

  /// The fields that both sides changed, as far as a row was there before and on both sides.
  fileprivate var fieldsOfBothSides: [String]? {
    guard let base, let local, let remote else { return nil }
    let names = local.layout.names.filter { base[$0] != local[$0] && base[$0] != remote[$0] }
    return names.isEmpty ? nil : names
  }
}

extension FieldValue {
  /// The value for people.
  fileprivate var plainText: String {
    switch self {
    case .null: "nothing"
    case .text(let text): text
    case .integer, .real, .blob: "\(self)"
    }
  }
}

extension String {
  fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
