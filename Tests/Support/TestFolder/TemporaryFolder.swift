package import Foundation
internal import TandemRecords
package import TandemSQLite
internal import TestSystemCalls

/// A folder of its own for each test, removed when nobody needs it any more.
package final class TemporaryFolder: Sendable {
  package let path: String

  package init() throws {
    path = NSTemporaryDirectory() + "tandem-tests-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  package func path(of name: String) -> String { "\(path)/\(name)" }

  /// Writes a file and returns its path.
  @discardableResult
  package func write(_ text: String, to name: String) throws -> String {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path(of: name)))
    return path(of: name)
  }

  package func text(of name: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: path(of: name))), as: UTF8.self)
  }

  /// Writes a file, if its folder is there.
  package func create(_ name: String, _ bytes: some Sequence<UInt8>) {
    _ = FileManager.default.createFile(atPath: path(of: name), contents: Data(bytes))
  }

  /// The bytes of a file, none if it is missing.
  package func bytes(of name: String) -> [UInt8] {
    FileManager.default.contents(atPath: path(of: name)).map { Array($0) } ?? []
  }

  /// The names in a folder below, none if it is missing.
  package func names(in name: String = "") -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: path(of: name))) ?? []
  }

  /// The paths of all files below a folder, relative to it.
  package func files(in name: String = "") -> [String] {
    (FileManager.default.subpaths(atPath: path(of: name)) ?? []).filter {
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(
        atPath: path(of: "\(name)/\($0)"), isDirectory: &isFolder)
        && !isFolder.boolValue
    }
  }

  package struct FileState: Equatable {
    package var bytes: [UInt8]
    package var modified: Date?
  }

  /// The contents and modification times of all files: equal if and only if nothing was written.
  ///
  /// It leaves out the files by which readers of a database find each other.
  package func contents() throws -> [String: FileState] {
    var states: [String: FileState] = [:]
    for name in files() where !name.hasSuffix("-shm") {
      let bytes = bytes(of: name)
      if name.hasSuffix("-wal"), bytes.isEmpty { continue }
      let attributes = try FileManager.default.attributesOfItem(atPath: path(of: name))
      states[name] = FileState(bytes: bytes, modified: attributes[.modificationDate] as? Date)
    }
    return states
  }
}

// MARK: - System calls

extension TemporaryFolder {
  /// True if ``systemCalls(during:)`` works: on Linux, without a sanitizer.
  package static var recordsSystemCalls: Bool { test_calls_are_recorded() }

  /// The calls that write, synchronize, rename and remove files in the folder, in order: `write a`, `sync a`,
  /// `rename a b`, `remove a`, with relative paths.
  ///
  /// They decide what a failure of the machine leaves: bytes that were not synchronized may be missing.
  ///
  /// - Parameter heldSyncCount: The number of partial files of which none is synchronized before the calls that
  ///   synchronize all of them have begun.
  package func systemCalls(
    holdingSyncsUntil heldSyncCount: Int = 0, during body: () async throws -> Void
  ) async throws -> [String] {
    let recording = test_calls_begin(path)
    precondition(recording >= 0, "A test records one folder at a time")
    test_calls_hold_syncs(Int32(recording), Int32(heldSyncCount))
    var text = [CChar](repeating: 0, count: 256 << 10)
    func end() -> Int { test_calls_end(recording, &text, text.count) }
    do { try await body() } catch {
      _ = end()
      throw error
    }
    let length = end()
    let bytes = text.prefix(length).map { UInt8(bitPattern: $0) }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
  }
}

// MARK: - Databases

extension TemporaryFolder {
  /// Runs statements on a database file, which is created if it is missing.
  package func execute(_ database: String, _ statements: String...) throws {
    let connection = try DatabaseConnection(path: path(of: database))
    for statement in statements { try connection.execute(statement) }
  }

  /// The rows that a query finds, each as its values with bars between them.
  package func rows(_ database: String, _ query: String) throws -> [String] {
    try DatabaseConnection(path: path(of: database), access: .readOnly).rows(query)
  }
}

extension DatabaseConnection {
  /// The rows that a query finds, each as its values with bars between them.
  package func rows(_ query: String) throws -> [String] {
    let statement = try prepare(query)
    var rows: [String] = []
    while try statement.step() {
      rows.append(try statement.values().map(\.description).joined(separator: "|"))
    }
    return rows
  }
}
