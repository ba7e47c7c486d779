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
  }

  private static let maxResolvedCount = 3

  /// The open conflicts, newest first, and the last resolved ones.
  func conflictCards() async throws -> [ConflictCard] {
    let conflicts = try await replica.conflicts(includingResolved: true).reversed()
    let open = conflicts.filter { $0.resolution == .unresolved }
    let resolved = conflicts.filter { $0.resolution != .unresolved }.prefix(Phone.maxResolvedCount)
    return (open + resolved).map { conflict in
      let fields = conflict.fields
      func text(_ version: Record?) -> String? {
        version.map { version in
          (fields ?? version.layout.names).map { "\(version[$0].plainText)" }.joined(
            separator: ", ")
        }
      }
      let name =
        [conflict.local, conflict.base, conflict.remote].compactMap { $0?["name"].plainText }.first
        ?? ""
      return ConflictCard(
        id: conflict.id,
        title: (fields?.joined(separator: ", ").capitalizedFirst ?? name)
          + " of a \(conflict.table)",
        kind: conflict.kind.rawValue, resolution: conflict.resolution.rawValue,
        base: text(conflict.base),
        local: text(conflict.local), remote: text(conflict.remote))
    }
  }

  /// Chooses a version. Of an open conflict, the replica knows the versions; after a resolved one,
  /// the choice is an edit like any other.
  func resolve(_ choice: Choice) async throws {
    guard
      let conflict = try await replica.conflicts(includingResolved: true)
        .first(where: { $0.id == choice.id })
    else { return }
    if conflict.resolution == .unresolved {
      let version: ConflictChoice =
        choice.choice == "local" ? .local : choice.choice == "base" ? .base : .remote
      return try await replica.resolve(conflict: choice.id, by: version)
    }
    let versions = ["base": conflict.base, "local": conflict.local, "remote": conflict.remote]
    guard let version = versions[choice.choice] ?? nil,
      case .text(let key)? = conflict.primaryKey.first
    else { return }
    let column = conflict.table == "place" ? "zone" : "id"
    try await database.write { transaction in
      for field in conflict.fields ?? version.layout.names {
        try transaction.execute(
          """
          UPDATE \(identifier: conflict.table) SET \(identifier: field) = \(version[field])
          WHERE \(identifier: column) = \(key)
          """)
      }
    }
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
