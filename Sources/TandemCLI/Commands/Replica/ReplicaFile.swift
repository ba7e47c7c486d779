import Tandem

/// The file of a replica, for the commands that synchronize it.
enum ReplicaFile {
  /// Opens a file that exists, which keeps its journal mode, and closes it after `body`.
  static func with<Result>(
    _ path: String, access: DatabaseConfiguration.Access = .readWrite,
    epochPolicy: EpochPolicy? = nil,
    _ body: (Database, DatabaseReplica) async throws -> Result
  ) async throws -> Result {
    let database = try await Database.open(
      path: path,
      configuration: DatabaseConfiguration(access: access, journal: .asItIs, maxReaderCount: 2))
    do {
      return try await closing(database.close) {
        try await body(database, DatabaseReplica(database, epochPolicy: epochPolicy))
      }
    } catch let error as DatabaseError where error.code.primary == .readOnly {
      throw FileError(
        path: path, action: "written",
        reason: "it is read-only; let this user write the file and its directory, or use a copy")
    }
  }

  /// Opens the space of a name that a file has, and closes it after `body`.
  static func withSpace<Result>(
    named name: String, _ body: (SyncSpace) async throws -> Result
  ) async throws -> Result {
    try await with(try await SyncSpace.named(name, token: environmentToken), body)
  }

  /// The token for servers, unless there is a file with it.
  static var environmentToken: ServerToken? {
    getenv("TANDEM_TOKEN").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : .text($0) }
  }

  /// Closes a space after `body`.
  static func with<Result>(
    _ space: SyncSpace, _ body: (SyncSpace) async throws -> Result
  ) async throws -> Result {
    try await closing(space.close) { try await body(space) }
  }
}

extension SpaceRevision {
  /// The epoch and the version, as the commands show them.
  var shortText: String { "\(epoch).\(version)" }
}

/// The JSON of a key, for the help of commands.
let keyShape =
  "KEY is the value of the key column, or an array of the\nvalues if the key has several columns."

extension [FieldValue] {
  /// The value of a key of one column, or the array of its values.
  func writeKey(to json: inout JSONWriter) {
    if count == 1 { json.write(self[0]) } else { json.write(self) }
  }

  /// The values, as messages show them.
  var keyText: String { map(\.description).joined(separator: ", ") }
}

extension Record? {
  /// The record as JSON, for people.
  var text: String {
    guard let self else { return "(deleted)" }
    var bytes: [UInt8] = []
    bytes.appendJSON { $0.write(self) }
    return String(decoding: bytes, as: UTF8.self)
  }
}
