import TandemReplica
import TandemSQLite
import TandemSpace
import TestRandom

/// Makes the databases of scenarios. Those in memory are used again: creating one takes longer than
/// a whole scenario.
final class DatabasePool {
  let schemas = (0..<SimulatedSchema.count).map { SimulatedSchema(variant: $0) }
  /// Where the rows of the space are, if not in SQLite.
  let postgreSQL: SimulatedPostgreSQL?
  /// The folder of the files; `nil` if all databases are in memory.
  private let folder: String?
  private var fileCount = 0
  private var idle: [Kind: [SimulatedDatabase]] = [:]
  private var emptyImages: [Kind: DatabaseImage] = [:]
  private var emptyFiles: [Kind: FileContent] = [:]

  private enum Kind: Hashable {
    case space
    /// A replica with the schema of a number.
    case replica(Int)
  }

  /// - Parameters:
  ///   - usesFiles: True if programs can be killed.
  ///   - usesPostgreSQL: True if the rows of the space are in a PostgreSQL server, which is started.
  init(usesFiles: Bool = false, usesPostgreSQL: Bool = false) throws {
    postgreSQL = usesPostgreSQL ? try SimulatedPostgreSQL() : nil
    folder = usesFiles ? try SimulatedDisk.makeFolder() : nil
  }

  deinit {
    if let folder { SimulatedDisk.removeFolder(folder) }
  }

  var usesFiles: Bool { folder != nil }

  /// A database with the tables of a schema, attached and without rows.
  func replica(_ variant: Int) throws -> SimulatedDatabase { try database(.replica(variant)) }

  /// A space without tables.
  func space() throws -> SimulatedDatabase { try database(.space) }

  func release(replica: SimulatedDatabase, _ variant: Int) throws {
    try release(replica, .replica(variant))
  }

  func release(space: SimulatedDatabase) throws { try release(space, .space) }

  private func database(_ kind: Kind) throws -> SimulatedDatabase {
    if folder != nil {
      let content = try emptyFiles[kind] ?? emptyFile(kind)
      emptyFiles[kind] = content
      return try file(content, kind)
    }
    if let database = idle[kind]?.popLast() {
      try emptyImages[kind]?.restore(database)
      return database
    }
    let database = try SimulatedDatabase(hasForeignKeys: hasForeignKeys(kind))
    try create(kind, in: database)
    if emptyImages[kind] == nil { emptyImages[kind] = try DatabaseImage(database) }
    return database
  }

  private func release(_ database: SimulatedDatabase, _ kind: Kind) throws {
    if database.isFile { try database.end() } else { idle[kind, default: []].append(database) }
  }

  private func emptyFile(_ kind: Kind) throws -> FileContent {
    let database = try file(FileContent(database: [], log: []), kind)
    try create(kind, in: database)
    try database.checkpoint(killedAfter: nil)
    defer { try? database.end() }
    return try database.content()
  }

  private func file(_ content: FileContent, _ kind: Kind) throws -> SimulatedDatabase {
    guard let folder else { preconditionFailure("this pool has no folder") }
    fileCount += 1
    return try SimulatedDatabase(
      content, at: SimulatedDisk("file\(fileCount)", in: folder),
      hasForeignKeys: hasForeignKeys(kind))
  }

  private func hasForeignKeys(_ kind: Kind) -> Bool {
    switch kind {
    case .space: false
    case .replica(let variant): schemas[variant].hasForeignKeys
    }
  }

  private func create(_ kind: Kind, in database: SimulatedDatabase) throws {
    var random = SplitMix64(seed: 1)
    try database.write { connection in
      switch kind {
      case .space: _ = try SpaceTables(connection).create(using: &random)
      case .replica(let variant):
        for statement in schemas[variant].statements { try connection.execute(statement) }
        let tables = ReplicaTables(connection)
        try tables.attach(schemas[variant].attachedTables, to: "space", using: &random)
      }
    }
  }
}
