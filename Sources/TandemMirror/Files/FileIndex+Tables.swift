internal import TandemDigests
internal import TandemHTTP
internal import TandemRecords
internal import TandemSQLite

extension FileIndex.Contents {
  static let version: Int64 = 1

  /// Reads an index; `nil` if its tables have not been created: whoever created the file was killed
  /// before that.
  init?(_ connection: DatabaseConnection) throws {
    guard try Self.hasTables(connection) else { return nil }
    owner = try Self.owner(in: connection)
    for row in try connection.rows("SELECT name, field, digest_field, length_field FROM folder") {
      guard let name = row[0].textValue, let field = row[1].textValue else { continue }
      folders[name] = FileIndex.Folder(
        field: field, digestField: row[2].textValue, byteCountField: row[3].textValue)
    }
    try connection.forEachFile(
      "SELECT folder, name, url, byte_count, sha256, entity_tag, last_modified FROM file"
    ) { address, values in
      guard let url = values[2].textValue, case .integer(let byteCount) = values[3] else { return }
      files[address] = StoredFile(
        name: address.name, url: url, validators: HTTPValidators(values[5], values[6]),
        byteCount: Int(byteCount),
        sha256: values[4].textValue.flatMap { SHA256Digest(hexadecimal: $0) })
    }
    try connection.forEachFile("SELECT folder, name FROM dirty") { address, _ in
      dirty.insert(address)
    }
    try connection.forEachFile(
      "SELECT folder, name, url, validator, total_byte_count FROM partial"
    ) { address, values in
      guard let url = values[2].textValue, let validator = values[3].textValue else { return }
      var resumption = FileIndex.Resumption(url: url, validator: validator)
      if case .integer(let count) = values[4] { resumption.totalByteCount = Int(count) }
      partials[address] = resumption
    }
  }

  static func hasTables(_ connection: DatabaseConnection) throws -> Bool {
    let version = try connection.integer("PRAGMA user_version")
    guard version == 0 || version == Self.version else {
      throw TransportError(
        .cannotRead, "it was written by another version of Tandem; use that one",
        url: connection.path)
    }
    return version != 0
  }

  static func owner(in connection: DatabaseConnection) throws -> String? {
    try connection.row("SELECT token FROM owner")?[0].textValue
  }

  /// Creates the tables, and writes everything into them.
  func create(in connection: DatabaseConnection) throws {
    let key = "folder TEXT NOT NULL, name TEXT NOT NULL"
    for sql in [
      "CREATE TABLE owner (token TEXT NOT NULL)",
      """
      CREATE TABLE folder (
        name TEXT NOT NULL PRIMARY KEY, field TEXT NOT NULL, digest_field TEXT, length_field TEXT
      ) WITHOUT ROWID
      """,
      """
      CREATE TABLE file (
        \(key), url TEXT NOT NULL, byte_count INTEGER NOT NULL, sha256 TEXT, entity_tag TEXT,
        last_modified TEXT, PRIMARY KEY (folder, name)
      ) WITHOUT ROWID
      """,
      "CREATE TABLE dirty (\(key), PRIMARY KEY (folder, name)) WITHOUT ROWID",
      """
      CREATE TABLE partial (
        \(key), url TEXT NOT NULL, validator TEXT NOT NULL, total_byte_count INTEGER,
        PRIMARY KEY (folder, name)
      ) WITHOUT ROWID
      """,
      "PRAGMA user_version=\(Self.version)",
    ] {
      try connection.execute(sql)
    }
    try connection.replaceOwner(self)
    for (address, file) in files { try connection.insert(file, at: address) }
    for address in dirty { try connection.insert(dirty: address) }
    for (address, resumption) in partials { try connection.insert(resumption, at: address) }
  }
}

extension DatabaseConnection {
  /// Calls `body` with each row that begins with the folder and the name of a file.
  fileprivate func forEachFile(
    _ sql: String, _ body: (FileIndex.Address, [FieldValue]) -> Void
  ) throws(DatabaseError) {
    let statement = try prepare(sql)
    while try statement.step() {
      let values = try statement.values()
      guard let folder = values[0].textValue,
        let name = values[1].textValue.flatMap({ FileName(stored: $0) })
      else { continue }
      body(FileIndex.Address(folder: folder, name: name), values)
    }
  }

  func delete(
    _ address: FileIndex.Address, from table: String
  ) throws(DatabaseError) {
    try run(
      "DELETE FROM \(table) WHERE folder = ? AND name = ?",
      [.text(address.folder), .text(address.name.text)])
  }

  func insert(
    _ file: StoredFile, at address: FileIndex.Address
  ) throws(DatabaseError) {
    try run(
      "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?, ?)",
      [
        .text(address.folder), .text(address.name.text), .text(file.url),
        .integer(Int64(file.byteCount)), FieldValue(file.sha256.map { "\($0)" }),
        FieldValue(file.validators.entityTag), FieldValue(file.validators.lastModified),
      ])
  }

  func insert(dirty address: FileIndex.Address) throws(DatabaseError) {
    try run(
      "INSERT OR REPLACE INTO dirty VALUES (?, ?)",
      [.text(address.folder), .text(address.name.text)])
  }

  func insert(
    _ resumption: FileIndex.Resumption, at address: FileIndex.Address
  ) throws(DatabaseError) {
    try run(
      "INSERT OR REPLACE INTO partial VALUES (?, ?, ?, ?, ?)",
      [
        .text(address.folder), .text(address.name.text), .text(resumption.url),
        .text(resumption.validator),
        resumption.totalByteCount.map { .integer(Int64($0)) } ?? .null,
      ])
  }

  func replaceOwner(_ contents: FileIndex.Contents) throws(DatabaseError) {
    try run("DELETE FROM owner")
    try run("DELETE FROM folder")
    if let owner = contents.owner { try run("INSERT INTO owner VALUES (?)", [.text(owner)]) }
    for (name, folder) in contents.folders {
      try run(
        "INSERT INTO folder VALUES (?, ?, ?, ?)",
        [
          .text(name), .text(folder.field), FieldValue(folder.digestField),
          FieldValue(folder.byteCountField),
        ])
    }
  }
}
