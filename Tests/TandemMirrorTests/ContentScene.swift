import Foundation
import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

/// A list and its contents in memory, and folders to mirror them into.
struct ContentScene {
  let folder: TemporaryFolder
  let server = MemoryServer()

  init() throws { folder = try TemporaryFolder() }

  static let listURL = "http://a.example/list"

  /// The content in the field `photo`.
  static let photo = [MirroredContent(field: "photo")]

  /// Mirrors once, with one transfer at a time by default.
  @discardableResult
  func run(
    _ contents: [MirroredContent] = photo, url: String = listURL,
    list: RecordListOptions = RecordListOptions(), database: String = "list.db",
    into directory: String = "files", policy: MirrorErrorPolicy = .stop,
    limit: MirrorDeletionLimit? = nil, isDryRun: Bool = false,
    concurrency: Int = 1
  ) async throws -> DatabaseMirror.Report {
    var list = list
    list.retry = .never
    var mirror = DatabaseMirror(
      table: "place", key: ["id"], contents: contents.map { $0.withPolicy(policy) },
      directory: contents.isEmpty ? nil : "\(folder.path)/\(directory)",
      mirrorGuard: MirrorGuard(deletionLimit: limit), isDryRun: isDryRun)
    mirror.concurrency = concurrency
    mirror.retry = .never
    return try await mirror.run(
      from: .url(url), intoFileAt: "\(folder.path)/\(database)", list: list, client: server)
  }

  /// Mirrors the table alone, as a program without contents does.
  func runWithoutContents(
    _ list: RecordListOptions = RecordListOptions(), isDryRun: Bool = false
  ) async throws {
    try await run([], list: list, isDryRun: isDryRun)
  }

  /// What ends a run, with all files as they were.
  func failure(
    sourceLocation: SourceLocation = #_sourceLocation, _ run: () async throws -> Void
  ) async throws -> any Error {
    let before = try folder.contents().filter { !$0.key.contains(".tandem") }
    var failure: (any Error)?
    do {
      try await run()
    } catch let error as DatabaseMirror.RunError {
      failure = error.failure.error
    } catch {
      failure = error
    }
    let after = try folder.contents().filter { !$0.key.contains(".tandem") }
    #expect(after == before, sourceLocation: sourceLocation)
    return try #require(failure, sourceLocation: sourceLocation)
  }

  /// Changes the database, as its application does.
  func execute(_ statement: String) throws {
    try DatabaseConnection(path: "\(folder.path)/list.db").execute(statement)
  }

  /// All files of mirrors, with their contents as text.
  var files: [String: String] {
    let names = folder.files().filter { $0.contains("/") && !$0.contains(".tandem") }
    return Dictionary(
      uniqueKeysWithValues: names.map {
        ($0, String(decoding: folder.bytes(of: $0), as: UTF8.self))
      })
  }

  /// What a query finds, each row as its values with bars between them.
  func rows(_ query: String) throws -> [String] {
    try DatabaseConnection(path: "\(folder.path)/list.db", access: .readOnly).rows(query)
  }

  /// The paths that were asked for since `count` requests.
  func paths(since count: Int) -> [String] {
    server.requests.dropFirst(count).map {
      "/" + $0.url.split(separator: "/").dropFirst(2).joined(separator: "/")
    }
  }
}

extension MirroredContent {
  /// The content with another error policy.
  func withPolicy(_ policy: MirrorErrorPolicy) -> MirroredContent {
    var content = self
    content.errorPolicy = policy
    return content
  }
}

extension DatabaseMirror.Report {
  var isComplete: Bool { run.isComplete }
  var skippedCount: Int { run.skippedCount }
  var byteCount: Int { run.byteCount }
  var transferred: [MirrorTransferReport<RecordKey>] { run.transferred }
  var failures: [MirrorFailure<RecordKey>] { run.failures }
}
