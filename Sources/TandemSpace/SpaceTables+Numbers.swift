internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// The numbers of tables whose keys SQLite chooses. Copies choose equal ones, so that the space gives each number
/// once: it keeps the highest one that it ever gave, also if the record has been deleted and forgotten since.
extension SpaceTables {
  /// The highest number ever given in each of the tables whose keys SQLite chooses, and that have given one.
  func numbers(of tables: [SpaceTable]) throws -> [FieldName: Int64] {
    guard tables.contains(where: \.isNumbered) else { return [:] }
    var numbers: [FieldName: Int64] = [:]
    for row in try connection.rows(.numbers, []) {
      guard let table = row[0].textValue, case .integer(let number) = row[1] else {
        throw damaged("the numbers of the tables")
      }
      numbers[FieldName(table)] = number
    }
    return numbers
  }

  /// Takes note of the numbers of records that a commit made.
  func note(
    numbersOf edits: [SpaceLedger.Edit], in tables: [SpaceTable], above known: [FieldName: Int64]
  ) throws {
    let names = Set(tables.filter(\.isNumbered).map { FieldName($0.name) })
    guard !names.isEmpty else { return }
    var highest: [FieldName: Int64] = [:]
    for edit in edits where edit.old == nil {
      let table = FieldName(edit.key.table)
      guard names.contains(table), let number = edit.key.number else { continue }
      highest[table] = max(highest[table] ?? number, number)
    }
    for (table, number) in highest where number > known[table] ?? .min {
      try connection.run(.setNumber, [.text(table.text), .integer(number)])
    }
  }
}
