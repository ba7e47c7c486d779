internal import SystemLibrary
internal import TandemSQLite
package import TandemSpace
internal import TandemSync

/// Renaming and deletion. The name that a space had is kept (``TandemSpace/FormerSpace``), durably, before the file goes.
extension SpaceDirectory {
  package func rename(_ name: String, to newName: String) async throws -> Bool {
    guard SpaceName.isValid(newName) else {
      throw SyncRequestError(.malformed, "the name of a space matches \(SpaceName.pattern)")
    }
    // Nobody creates a space of the new name meanwhile.
    await creations.enter()
    defer { creations.leave() }
    return try await withClosed(name) {
      guard !contains(newName) else { return false }
      // The newest commits are in files beside it until it is closed.
      try SQLiteSpaceStore.withFile(file(of: name), creates: false) { _ in }
      for suffix in ["-wal", "-journal"] where access(file(of: name) + suffix, F_OK) == 0 {
        throw ServerError(.directory, "another program uses the space \(name); stop it")
      }
      try note(.renamed(newName), of: name)
      try memberFile.rename(name, to: newName) {
        guard SystemLibrary.rename(file(of: name), file(of: newName)) == 0 else {
          throw failure("rename", file(of: name))
        }
        unlink(formerPath(of: newName))
        try DurableLink.synchronize(path)
      }
      return true
    }
  }

  package func delete(_ name: String) async throws {
    // Nothing is here but the name.
    if !contains(name), former(name) == .incomplete { return try note(.deleted, of: name) }
    try await withClosed(name) {
      try note(.deleted, of: name)
      try memberFile.replace([], of: name)
      for path in DatabaseFile.paths(file(of: name)) {
        guard unlink(path) == 0 || errno == ENOENT else { throw failure("delete", path) }
      }
      try DurableLink.synchronize(path)
    }
  }

  package nonisolated func note(_ former: FormerSpace, of name: String) throws {
    try formerLink(of: name).write(former.text)
  }

  /// Notes durably that there are no complete copies of the spaces of these names.
  package nonisolated func noteIncomplete(_ names: [String]) throws {
    guard !names.isEmpty else { return }
    for name in names { try formerLink(of: name).replace(FormerSpace.incomplete.text) }
    try DurableLink.synchronize(path)
  }

  private nonisolated func failure(_ action: String, _ path: String) -> ServerError {
    ServerError(.directory, "cannot \(action) \(path): \(systemReason())")
  }
}
