/// The tables of a space as they are stored, to copy them row by row.
///
/// Both stores call the tables and their columns the same.
package enum SpaceStoredTable: String, CaseIterable, Sendable {
  case space, history, record, replica, overruled
  case changeCount = "change_count"
  case replicaName = "replica_name"
  case columnDefinition = "column_definition"
  case part, rule, claim, number, usage

  /// The columns that have the same values in both stores.
  package var columns: [String] {
    switch self {
    case .space: ["epoch", "head", "horizon", "tables"]
    case .history: ["version", "mark", "digest", "commit_id", "replica", "time"]
    case .record: ["tab", "key", "id", "fields", "version", "created", "field_versions"]
    case .replica: ["id", "account", "sequence", "commit_id", "outcome"]
    case .overruled: ["version", "tab", "id", "record_version", "fields"]
    case .changeCount: ["version", "tab", "count"]
    case .replicaName: ["id", "name"]
    case .columnDefinition: ["tab", "definitions"]
    case .part:
      [
        "replica", "part", "sequence", "commit_id", "of", "account", "base", "change_count",
        "overruled_count", "time", "message",
      ]
    case .rule: ["number", "tab", "parent", "definition", "dropped"]
    case .claim: ["rule", "side", "value", "key"]
    case .number: ["tab", "highest"]
    case .usage: ["version", "records", "bytes"]
    }
  }

  /// What a space has that has such rows, beyond what each space has.
  var groups: [SpaceTableGroup] {
    switch self {
    case .space, .history, .record, .replica, .overruled: []
    case .changeCount: [.changeCounts]
    case .replicaName: [.replicaNames]
    case .columnDefinition: [.columnDefinitions]
    case .part: [.parts]
    case .rule, .claim: [.constraints]
    case .number: [.numbers]
    case .usage: [.usage]
    }
  }
}
