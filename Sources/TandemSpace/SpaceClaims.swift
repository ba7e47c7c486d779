package import TandemRecords
internal import TandemSQLite
package import TandemSync

/// A constraint of a space, with the number by which its claims are stored. No other constraint ever gets the
/// number.
package struct SpaceRule: Hashable, Sendable {
  package let number: Int
  /// The table that declares it.
  package let table: FieldName
  package let constraint: SpaceConstraint
  /// False while records break it: it has claims, and judges no commit.
  package let holds: Bool

  package init(_ number: Int, _ table: FieldName, _ constraint: SpaceConstraint, holds: Bool) {
    self.number = number
    self.table = table
    self.constraint = constraint
    self.holds = holds
  }
}

/// A value that a record has under a rule.
package struct SpaceClaim: Hashable, Sendable {
  /// The parts of a rule.
  package enum Side: Int, Hashable, Sendable {
    /// The record holds a unique value, or needs the value of a parent.
    case own = 0
    /// The record is a parent with this value.
    case offer = 1
    /// A commit has stated the value of the record in an index. No bytes: the index does not have the record.
    case stated = 2
  }

  package let rule: Int
  package let side: Side
  /// The values of the columns in their canonical form: equal bytes if SQLite finds the values equal.
  package let value: [UInt8]

  /// The claim of this value on a side.
  func on(_ side: Side) -> SpaceClaim { SpaceClaim(rule: rule, side: side, value: value) }
}

/// The claims that records make, by the rules of a space.
///
/// Values are compared as SQLite compares them: NOCASE ignores the case of A to Z only, and what follows a zero
/// byte; RTRIM ignores U+0020 at the end; integers and reals compare exactly. A null claims nothing. The values of
/// a child are converted by the affinity of the parent's column first, and compared by its collation.
package struct SpaceClaims: Sendable {
  /// The kinds of rules that records make claims under.
  enum Kind: Hashable, Sendable {
    case unique
    /// Commits state the values.
    case index
    /// Records of a parent offer a value.
    case reference(parent: FieldName)
    /// Records of a parent are found by their key. Their offers are not stored.
    case keyReference(parent: FieldName)
  }

  struct Rule: Sendable {
    let kind: Kind
    let table: FieldName
    let holds: Bool
  }

  private struct Source: Sendable {
    let rule: Int
    let side: SpaceClaim.Side
    let columns: [Column]
  }

  private struct Column: Sendable {
    let name: String
    /// The place in the key; `nil` for a field.
    let place: Int?
    let collation: ComparedColumn.Collation
    let affinity: ColumnAffinity
  }

  private(set) var rules: [Int: Rule] = [:]
  /// The tables whose keys are numbers that SQLite chooses.
  let numbered: Set<FieldName>
  private var sources: [FieldName: [Source]] = [:]
  /// The numbers of the rules of unique indexes, by the SQL of the index.
  private(set) var indexes: [FieldName: [String: Int]] = [:]

  /// The claims of these rules. A rule of tables or columns that are not there makes none.
  package init(_ rules: [SpaceRule], tables: [SpaceTable]) {
    let keys = Dictionary(
      tables.map { (FieldName($0.name), $0.keyColumns.map { FieldName($0) }) },
      uniquingKeysWith: { first, _ in first })
    numbered = Set(tables.filter(\.isNumbered).map { FieldName($0.name) })
    for rule in rules { add(rule, keys) }
  }

  private mutating func add(_ rule: SpaceRule, _ keys: [FieldName: [FieldName]]) {
    func column(_ name: FieldName, of table: FieldName, as compared: ComparedColumn) -> Column {
      Column(
        name: name.text, place: keys[table]?.firstIndex(of: name), collation: compared.collation,
        affinity: ColumnAffinity(compared.affinity))
    }
    func make(_ kind: Kind, _ columns: [Column]) {
      self.rules[rule.number] = Rule(kind: kind, table: rule.table, holds: rule.holds)
      sources[rule.table, default: []].append(
        Source(rule: rule.number, side: .own, columns: columns))
    }
    switch rule.constraint {
    case .together: break
    case .index(let index):
      rules[rule.number] = Rule(kind: .index, table: rule.table, holds: rule.holds)
      indexes[rule.table, default: [:]][index.sql] = rule.number
    case .unique(let columns):
      make(
        .unique,
        columns.map { column($0.name, of: rule.table, as: ComparedColumn($0.name, $0.collation)) })
    case .reference(let children, to: let parent, let columns):
      var pairs = Array(zip(children, columns))
      let key = keys[parent] ?? []
      let isByKey =
        pairs.count == key.count && Set(columns.map(\.name)) == Set(key)
        && columns.allSatisfy { $0.collation == .binary }
      if isByKey {
        // The value has the bytes of the parent's key.
        pairs = key.compactMap { name in pairs.first { $0.1.name == name } }
      }
      make(
        isByKey ? .keyReference(parent: parent) : .reference(parent: parent),
        pairs.map { column($0.0, of: rule.table, as: $0.1) })
      let offers = pairs.map { pair in
        column(pair.1.name, of: parent, as: ComparedColumn(pair.1.name, pair.1.collation))
      }
      sources[parent, default: []].append(
        Source(rule: rule.number, side: .offer, columns: offers))
    }
  }

  /// The claims of a live record. Claims that the file does not store are among them.
  ///
  /// - Parameter stated: The values that commits have stated, by the SQL of the index.
  /// - Complexity: O(*n* · *m*) in the numbers of columns of its rules and of its fields.
  package func claims(
    of key: SyncKey, _ fields: Record, stated: [String: [UInt8]] = [:]
  ) -> [SpaceClaim] {
    let table = FieldName(key.table)
    var claims: [SpaceClaim] = []
    if !stated.isEmpty {
      for (sql, rule) in indexes[table] ?? [:] {
        guard let value = stated[sql] else { continue }
        claims.append(SpaceClaim(rule: rule, side: .stated, value: value))
      }
    }
    guard let sources = sources[table] else { return claims }
    return claims
      + sources.compactMap { source in
        var values: [FieldValue] = []
        for column in source.columns {
          let value =
            column.place.map { key.id.dropFirst($0).first ?? .null } ?? fields[column.name]
          guard !value.isNull else { return nil }
          values.append(column.affinity.altered(value).canonical(column.collation))
        }
        var bytes: [UInt8] = []
        RecordEncoding.append(id: values, to: &bytes)
        return SpaceClaim(rule: source.rule, side: source.side, value: bytes)
      }
  }

  /// The tables whose records make claims.
  var tables: [FieldName] { Array(sources.keys) }

  /// True if the file stores a claim: it finds the parents of a key by their keys.
  func stores(_ claim: SpaceClaim) -> Bool {
    if claim.side == .offer, case .keyReference = rules[claim.rule]?.kind { false } else { true }
  }
}

extension ColumnAffinity {
  fileprivate init(_ affinity: ComparedColumn.Affinity) {
    switch affinity {
    case .text: self = .text
    case .numeric: self = .numeric
    // Numbers compare exactly, whatever their types are.
    case .integer: self = .integer
    case .real: self = .numeric
    case .blob: self = .none
    }
  }
}
