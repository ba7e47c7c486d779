internal import TandemRecords
package import TandemSQLite
internal import TandemSync

// MARK: - Members that go with a copy of their space

extension SpaceMember {
  /// The role and the account in one text.
  var text: String { "\(role.rawValue) \(account)" }

  /// Reads the form of ``text``; `nil` for any other text.
  init?(text: String) {
    let parts = text.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, let role = SpaceRole(rawValue: String(parts[0])) else { return nil }
    self.init(account: String(parts[1]), role: role)
  }

  /// A text that stands for these members, which are sorted: others have another one.
  package static func tag(of members: [SpaceMember]) -> String {
    let key = SyncKey(table: "member", id: members.map { .text($0.text) })
    return RecordDigest(bits: RecordHasher().hash(key, [:])).description
  }

  /// The members that a copy of a space has taken along, sorted by the bytes of their accounts; `nil` if it has no list of
  /// them.
  package static func taken(along connection: DatabaseConnection) throws -> [SpaceMember]? {
    let name = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name = 'tandem_member'"
    guard try connection.row(name) != nil else { return nil }
    return try connection.rows(
      "SELECT account, role FROM tandem_member ORDER BY account LIMIT \(maxCount)"
    ).compactMap { SpaceMember($0) }
  }

  /// Replaces the members that a copy of a space takes along, in the transaction that is open; `nil` for no list.
  package static func take(_ members: [SpaceMember]?, along connection: DatabaseConnection) throws {
    try connection.execute("DROP TABLE IF EXISTS tandem_member")
    guard let members else { return }
    try connection.execute("CREATE TABLE tandem_member (account TEXT PRIMARY KEY, role TEXT)")
    for member in members {
      try connection.run(
        "INSERT INTO tandem_member VALUES (?, ?)",
        [.text(member.account), .text(member.role.rawValue)])
    }
  }
}
