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
  let folder = ContentFolder()
  let server = MemoryServer()

  static let listURL = "http://a.example/list"

  /// The content in the field `photo`.
  static let photo = [MirroredContent(field: "photo")]

  /// Mirrors once, with one transfer at a time.
  @discardableResult
  func run(
    _ contents: [MirroredContent] = photo, url: String = listURL,
    list: RecordListOptions = RecordListOptions(), database: String = "list.db",
    into directory: String = "files", policy: MirrorErrorPolicy = .stop,
    limit: MirrorDeletionLimit? = nil, isDryRun: Bool = false
  ) async throws -> (report: MirrorReport<RecordKey>, mirror: ContentMirror) {
    var list = list
    list.retry = .never
    let mirror = ContentMirror(
      .url(url), listOptions: list,
      mirror: DatabaseMirror(table: "place", key: ["id"], isDryRun: isDryRun),
      databasePath: "\(folder.path)/\(database)", directoryPath: "\(folder.path)/\(directory)",
      contents: contents, client: server)
    let options = MirrorOptions(
      stages: contents.map { MirrorStageOptions($0.stage, errorPolicy: policy) }, concurrency: 1,
      mirrorGuard: MirrorGuard(deletionLimit: limit), retry: .never, isDryRun: isDryRun)
    return (try await OneWayMirror(mirror, options: options).run(), mirror)
  }

  /// Mirrors the table alone, as a program without contents does.
  func runWithoutContents(
    _ list: RecordListOptions = RecordListOptions(), isDryRun: Bool = false
  ) async throws {
    let mirror = DatabaseMirror(table: "place", key: ["id"], isDryRun: isDryRun)
    let connection = try DatabaseConnection(path: "\(folder.path)/list.db")
    var list = list
    list.validators = try mirror.validators(for: Self.listURL, options: list, in: connection)
    let answer = try await RecordSource.url(Self.listURL).list(list, client: server)
    guard case .records(let records, let validators, _) = answer else { return }
    let origin = MirrorOrigin(url: Self.listURL, options: list, validators: validators)
    _ = try mirror.run(records, into: connection, origin: origin)
  }

  /// What ends a run, with all files as they were.
  func failure(
    sourceLocation: SourceLocation = #_sourceLocation, _ run: () async throws -> Void
  ) async throws -> any Error {
    let before = try folder.states().filter { !$0.key.contains(".tandem") }
    var failure: (any Error)?
    do {
      try await run()
    } catch let error as MirrorRunError<RecordKey> {
      failure = error.failure.error
    } catch {
      failure = error
    }
    let after = try folder.states().filter { !$0.key.contains(".tandem") }
    #expect(after == before, sourceLocation: sourceLocation)
    return try #require(failure, sourceLocation: sourceLocation)
  }

  /// Changes the database, as its application does.
  func execute(_ statement: String) throws {
    try DatabaseConnection(path: "\(folder.path)/list.db").execute(statement)
  }

  /// All files of mirrors, with their contents as text.
  var files: [String: String] {
    let names = folder.files("").filter { $0.contains("/") && !$0.contains(".tandem") }
    return Dictionary(uniqueKeysWithValues: names.map { ($0, folder.text($0)) })
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
