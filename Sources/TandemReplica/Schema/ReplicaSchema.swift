internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// The synchronized tables of a file.
package struct ReplicaSchema: Sendable {
  /// The tables, in the order in which they were attached.
  package let tables: [ReplicaTable]
  /// The same, each one after those that it refers to, except in cycles.
  let parentsFirst: [ReplicaTable]
  /// The foreign keys that refer to them, those of other tables included.
  let foreignKeys: [ForeignKey]
  private let keysOfChild: [ObjectIdentifier: [ForeignKey]]
  private let keysToParent: [ObjectIdentifier: [ForeignKey]]
  /// All foreign keys of the file.
  let listedKeys: [ListedForeignKey]

  init(_ declarations: [SpaceTable], in connection: DatabaseConnection) throws {
    let attached = try declarations.map { try ReplicaTable($0, in: connection) }
    tables = attached
    listedKeys = try ListedForeignKey.all(in: connection)
    foreignKeys = listedKeys.enumerated().compactMap {
      ForeignKey($1, number: $0, among: attached)
    }
    parentsFirst = ReplicaSchema.parentsFirst(tables, foreignKeys)
    keysToParent = Dictionary(grouping: foreignKeys) { ObjectIdentifier($0.parent) }
    keysOfChild = Dictionary(grouping: foreignKeys.filter { $0.attachedChild != nil }) {
      ObjectIdentifier($0.attachedChild ?? $0.parent)
    }
  }

  /// The place of each table, by its name, behind those that it refers to. In a cycle, one of the references does not
  /// count.
  var generations: [String: Int] {
    var places: [String: Int] = [:]
    for table in parentsFirst {
      let parents = foreignKeys(of: table).compactMap { places[$0.parent.name] }
      places[table.name] = parents.max().map { $0 + 1 } ?? 0
    }
    return places
  }

  private static func parentsFirst(
    _ tables: [ReplicaTable], _ foreignKeys: [ForeignKey]
  ) -> [ReplicaTable] {
    var sorted: [ReplicaTable] = []
    var visited: Set<String> = []
    func visit(_ table: ReplicaTable) {
      guard visited.insert(table.name).inserted else { return }
      for foreignKey in foreignKeys where foreignKey.attachedChild === table {
        visit(foreignKey.parent)
      }
      sorted.append(table)
    }
    for table in tables { visit(table) }
    return sorted
  }

  /// The foreign keys of a table.
  func foreignKeys(of table: ReplicaTable) -> [ForeignKey] {
    keysOfChild[ObjectIdentifier(table)] ?? []
  }

  /// The foreign keys that refer to a table.
  func foreignKeys(to table: ReplicaTable) -> [ForeignKey] {
    keysToParent[ObjectIdentifier(table)] ?? []
  }

  /// The tables whose keys are numbers that SQLite chooses.
  var numbered: [ReplicaTable] { tables.filter(\.declaration.isNumbered) }

  /// True if tables refer to themselves or, directly or not, to each other.
  var hasCycles: Bool {
    let places = Dictionary(
      uniqueKeysWithValues: parentsFirst.enumerated().map { ($1.name, $0) })
    return foreignKeys.contains { foreignKey in
      guard let child = foreignKey.attachedChild.flatMap({ places[$0.name] }),
        let parent = places[foreignKey.parent.name]
      else { return false }
      return child <= parent
    }
  }

  /// The table of a name, which is compared byte by byte as in messages.
  func table(named name: String) -> ReplicaTable? {
    tables.first { UTF8Order.areEqual($0.name, name) }
  }
}
