internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

extension ReplicaTables {
  /// The reason for which the space refused a change, for people. An objection has no key of the other record, so
  /// that is the one that this file has.
  ///
  /// - Parameters:
  ///   - base: The record before the change.
  ///   - record: The record that the space refused.
  ///   - known: The tables with the constraints of all copies.
  func reason(
    _ reason: SyncObjection.Reason, _ key: SyncKey, of table: ReplicaTable, base: Record?,
    record: Record?, _ known: [SpaceTable]
  ) throws -> String {
    if let message = reason.ruleMessage { return "a rule of the space refused it: \(message)" }
    let found: Explanation?
    let text: String
    switch reason {
    case .taken:
      found = try holders(of: record, key.id, in: table, known).first.map {
        (table.name(of: $0), $0.rule)
      }
      text = "a unique value of it is that of another record"
    case .needed:
      found = try need(key, of: table, base, known)
      text = "other records refer to it"
    case .missingParent:
      found = try missingParent(key, of: table, record, known)
      text = "a record that it refers to is not in the space"
    case .unclaimed:
      found = nil
      let fault = try indexClaims(schema()).faults[FieldName(table.name)]
      text =
        "the change has to state the record's value in a unique index"
        + (fault.map { ", but \($0)" } ?? "; synchronize with the newest version of Tandem")
    default:
      found = nil
      text = reason.rawValue
    }
    return try "the space refused it: \(found?.text ?? text)"
      + undeclared(reason, table.name, known, found?.rule)
  }

  /// Why a rule refuses a change.
  private typealias Explanation = (text: String, rule: SpaceConstraint)

  /// The rule that refuses a change, or all rules that may, as far as this file does not declare them, and what to do:
  /// a rule stays in the space when all copies have dropped it.
  private func undeclared(
    _ reason: SyncObjection.Reason, _ table: String, _ known: [SpaceTable], _ rule: SpaceConstraint?
  ) throws -> String {
    let own = try declarations()
    var rules: [String] = []
    for other in known {
      let isSame = UTF8Order.areEqual(other.name, table)
      for constraint in other.constraints ?? [] {
        let isMeant =
          switch (reason, constraint) {
          case (.taken, .unique), (.taken, .index), (.missingParent, .reference): isSame
          case (.needed, .reference(_, to: let parent, _)): parent == FieldName(table)
          default: false
          }
        if isMeant, rule == nil || rule == constraint, !rules.contains("\(constraint)"),
          own.table(named: other.name)?.constraints?.contains(constraint) != true
        {
          rules.append("\(constraint)")
        }
      }
    }
    return rules.isEmpty
      ? ""
      : "; this file does not declare that \(rules.joined(separator: " or that ")): if no copy does any more, an "
        + "operator of the space can drop the rule (`dropConstraint`)"
  }

  /// The rows that have unique values of a record, by rules and indexes that the table need not have.
  func holders(
    of record: Record?, _ key: [FieldValue], in table: ReplicaTable, _ known: [SpaceTable]
  ) throws -> [UniqueHolder] {
    var found: [UniqueHolder] = []
    for rule in known.table(named: table.name)?.constraints ?? [] {
      guard case .unique(let columns) = rule,
        let values = table.declaration.values(of: columns.map(\.name), record, key)
      else { continue }
      for other in try keys(of: table.declaration, where: columns, values) where other != key {
        found.append(UniqueHolder(key: other, rule: rule, values: values))
      }
    }
    guard let record else { return found }
    for index in try indexClaims(schema()).values[FieldName(table.name)] ?? [] {
      let values = try index.values(of: key, record)
      guard !values.isEmpty, index.isComputable(in: table.declaration) else { continue }
      // An expression may fail for some row of a table that does not have the index.
      let others = try? keys(
        of: table.declaration, where: "\(index.comparison) LIMIT 2", values)
      for other in others ?? [] where other != key {
        found.append(UniqueHolder(key: other, rule: .index(index.index), values: values))
      }
    }
    return found
  }

  /// The table whose rows refer to a record.
  private func need(
    _ key: SyncKey, of table: ReplicaTable, _ base: Record?, _ known: [SpaceTable]
  ) throws -> Explanation? {
    for child in known {
      for rule in child.constraints ?? [] {
        guard case .reference(let names, let parent, let columns) = rule,
          parent == FieldName(table.name), names.allSatisfy(child.synchronizes)
        else { continue }
        let values = table.declaration.values(of: columns.map(\.name), base, key.id)
        let compared = zip(names, columns).map { ComparedColumn($0, $1.collation) }
        if let values, try !keys(of: child, where: compared, values).isEmpty {
          return ("rows of \(child.name) refer to it", rule)
        }
      }
    }
    return nil
  }

  /// The values to which a record refers in vain.
  private func missingParent(
    _ key: SyncKey, of table: ReplicaTable, _ record: Record?, _ known: [SpaceTable]
  ) throws -> Explanation? {
    for rule in known.table(named: table.name)?.constraints ?? [] {
      guard case .reference(let names, let parent, let columns) = rule,
        let other = known.table(named: parent.text),
        columns.allSatisfy({ other.synchronizes($0.name) }),
        let values = table.declaration.values(of: names, record, key.id),
        try keys(of: other, where: columns, values).isEmpty
      else { continue }
      return ("there is no \(other.name) \(values.sqlText)", rule)
    }
    return nil
  }

  /// The keys of two rows of a table with some values, at most.
  func keys(
    of table: SpaceTable, where columns: [ComparedColumn], _ values: [FieldValue]
  ) throws -> [[FieldValue]] {
    let condition = columns.map {
      "\($0.name.text.sqlQuoted) = ? COLLATE \($0.collation.rawValue)"
    }.joined(separator: " AND ")
    return try keys(of: table, where: "\(condition) LIMIT 2", values)
  }
}

/// A row with a unique value of another record.
struct UniqueHolder {
  let key: [FieldValue]
  /// The rule by which the value is unique.
  let rule: SpaceConstraint
  let values: [FieldValue]
}

extension ReplicaTable {
  /// A row with a unique value, in words.
  fileprivate func name(of holder: UniqueHolder) -> String {
    if case .unique(let columns) = holder.rule {
      return name(of: holder.key, with: columns.map(\.name), holder.values)
    }
    return "\(name) \(holder.key.sqlText) has \(holder.values.sqlText) in the unique index "
      + "\(holder.rule.index?.name ?? "")"
  }

  /// A row that has some values, in words.
  func name(
    of key: [FieldValue], with columns: [FieldName], _ values: [FieldValue]
  ) -> String {
    let parts = zip(columns, values).map { "\($0.text) \($1.sqlText)" }
    return "\(name) \(key.sqlText) has \(parts.joined(separator: " and "))"
  }
}

extension SpaceTable {
  /// The values of columns of a record; `nil` if one of them is null or not synchronized.
  func values(
    of names: [FieldName], _ record: Record?, _ key: [FieldValue]
  ) -> [FieldValue]? {
    var values: [FieldValue] = []
    for name in names {
      let offset = keyColumns.firstIndex { FieldName($0) == name }
      guard synchronizes(name), let value = offset.map({ key[$0] }) ?? record?[name.text],
        !value.isNull
      else { return nil }
      values.append(value)
    }
    return values
  }
}

extension [FieldValue] {
  /// The values as SQL writes them, for people.
  var sqlText: String { map(\.sqlText).joined(separator: ", ") }
}

extension FieldValue {
  /// The value as SQL writes it, shortened, for people.
  fileprivate var sqlText: String {
    guard case .text(let text) = self else { return description }
    let shown = text.count > 60 ? text.prefix(60) + "…" : text[...]
    return "'\(shown.replacing("'", with: "''"))'"
  }
}
