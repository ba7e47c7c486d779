internal import SystemLibrary
public import TandemSync

extension SyncSpace {
  /// Opens a space in a SQLite file of its own. Several programs may use the file at the same time.
  ///
  /// - Parameters:
  ///   - path: The path of the file. Its absolute form becomes the name of the space.
  ///   - creates: True if a missing or empty file becomes a new space without records.
  /// - Throws: ``SpaceError`` if the file is another database; `DatabaseError` if it cannot be
  ///   opened.
  public static func file(_ path: String, creates: Bool = false) async throws -> SyncSpace {
    let first = try await SQLiteSpaceStore.open(path: path, creates: creates)
    let store = MovableSpaceStore(first, path: resolvedPath(path) ?? path)
    return SyncSpace(
      name: store.path, remote: LocalRemote(store), head: { try await store.state().head },
      end: { await store.close() })
  }
}
