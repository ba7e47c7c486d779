import Tandem

extension MirrorCommand {
  /// The table that a run mirrors, if the source is a SQLite file.
  struct SourceTable {
    let source: RecordSource
    let key: [String]

    /// - Returns: `nil` if the source is a list.
    /// - Throws: `UsageError` if the arguments do not fit the table; `DatabaseError` if it cannot be read.
    init?(
      _ source: RecordSource, into table: String, _ arguments: ParsedArguments
    ) throws {
      guard case .file(let path) = source, SQLiteFile.isAt(path) else {
        try arguments.checkAbsent(
          [Option.fromTable], "is for a SOURCE that is a SQLite file")
        return nil
      }
      let ofLists: [any CommandOption] = [
        Option.format, Option.type, ListRequest.Option.items,
      ]
      try arguments.checkAbsent(
        ofLists + CSVOption.all, "is for a list; \(path) is a SQLite file")
      let destination = arguments.operands[1]
      if Self.isList(destination) {
        throw arguments.error(
          "\(destination) is no SQLite file: SOURCE comes first, and DATABASE after it")
      }
      let schema = try Self.schema(arguments[Option.fromTable] ?? table, path)
      if Self.areSame(path, destination), schema.name.lowercased() == table.lowercased() {
        throw arguments.error(
          "\(table) would be mirrored into itself; name another table with --from-table")
      }
      let primaryKey = schema.primaryKey.isEmpty ? nil : schema.primaryKey
      guard let key = arguments[Option.noKey] ? [] : arguments[Option.key] ?? primaryKey else {
        throw arguments.error(
          "\(schema.name) has no primary key; name the columns that identify a row with --key, or compare whole "
            + "rows with --no-key")
      }
      self.source = .table(schema.name, ofFileAt: path)
      self.key = key
    }

    private static func schema(_ name: String, _ path: String) throws -> TableSchema {
      let configuration = DatabaseConfiguration(access: .readOnly, maxReaderCount: 1)
      return try Database(path: path, configuration: configuration).read { transaction in
        try transaction.schema(ofNamedTable: name, for: specification)
      }
    }

    /// True if there is a file with something else than a database in it: the operands may be exchanged.
    private static func isList(_ path: String) -> Bool {
      var status = stat()
      return stat(path, &status) == 0 && status.st_size > 0 && !SQLiteFile.isAt(path)
    }

    private static func areSame(_ one: String, _ other: String) -> Bool {
      FileIdentity(at: one).map { $0 == FileIdentity(at: other) } ?? false
    }
  }
}
