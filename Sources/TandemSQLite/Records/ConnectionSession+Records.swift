/// What a connection keeps about the types of records it has met.
struct RecordCache {
  struct Operation: Hashable {
    var type: ObjectIdentifier
    var operation: RecordOperation
  }

  var statements: [Operation: RecordStatement] = [:]
  var selections: [ObjectIdentifier: String] = [:]
  var last: (operation: Operation, statement: RecordStatement)?
}

extension DatabaseConnection {
  /// The statement for an operation on the records of a type.
  @usableFromInline
  func statement<Record: DatabaseRecord>(
    for type: Record.Type, _ operation: RecordOperation
  ) throws(DatabaseError) -> RecordStatement {
    let wanted = RecordCache.Operation(type: ObjectIdentifier(type), operation: operation)
    if let last = records.last, last.operation == wanted { return last.statement }
    let statement: RecordStatement
    if let known = records.statements[wanted] {
      statement = known
    } else {
      statement = try RecordStatement(self, type, operation)
      records.statements[wanted] = statement
    }
    records.last = (wanted, statement)
    return statement
  }

  /// The query for all records of a type, to which clauses may be added.
  @usableFromInline
  func selection<Record: DatabaseRecord>(of type: Record.Type) -> String {
    if let known = records.selections[ObjectIdentifier(type)] { return known }
    let names = type.columnNames
    let list = names.isEmpty ? "*" : names.map(\.sqlQuoted).joined(separator: ", ")
    let selection = "SELECT \(list) FROM \(type.tableName.sqlQuoted) "
    records.selections[ObjectIdentifier(type)] = selection
    return selection
  }
}
