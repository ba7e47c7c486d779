package import TandemSpace

/// The spaces of a ``SyncService``.
package protocol ServedSpaces: Sendable {
  /// The names of all spaces, sorted by their bytes.
  func names() async throws -> [String]

  /// A text for each space that changes with each commit, whichever program makes it. It may change without one.
  func marks() async throws -> [String: String]

  /// Runs `body` with a space.
  ///
  /// - Parameter creates: True if a space that does not exist is created.
  /// - Throws: ``SyncRequestError`` with code `unknownSpace`, `overLimit` or `unavailable`; errors of the
  ///   file, and of `body`.
  func with<Result: Sendable>(
    _ name: String, creates: Bool, _ body: @Sendable (any SpaceStore) async throws -> Result
  ) async throws -> Result

  /// Creates a space, and makes an account its owner.
  ///
  /// - Returns: False if there is a space of this name.
  /// - Throws: As ``with(_:creates:_:)``; with code `unknownSpace` if there was a space of this name, and `overQuota` if
  ///   the account has created as many as it may.
  func create(_ name: String, owner: String) async throws -> Bool

  /// Gives a space another name. Copies that ask for the former one hear of it.
  ///
  /// - Returns: False if there is a space of that name.
  /// - Throws: ``SyncRequestError`` with code `unknownSpace`, `malformed` or `unavailable`; errors of the file.
  func rename(_ name: String, to newName: String) async throws -> Bool

  /// Deletes a space with all that it has.
  ///
  /// - Throws: ``SyncRequestError`` with code `unknownSpace` or `unavailable`; errors of the file.
  func delete(_ name: String) async throws

  /// The members of the spaces; `nil` if spaces have none.
  var members: (any SpaceMemberships)? { get }

  /// The name that a space was given when it was renamed; `nil` if none was.
  func successor(of name: String) async throws -> String?

  /// Runs `body`, which waits for commits most of the time, with a space.
  ///
  /// - Throws: `CancellationError` if another space needs the place of this one among the open files;
  ///   otherwise as ``with(_:creates:_:)``.
  func follow(
    _ name: String, _ body: @escaping @Sendable (any SpaceStore) async throws -> Void
  ) async throws

  /// Closes all spaces. Nothing may use them any more.
  func close() async
}

extension ServedSpaces {
  /// Runs `body` with a space that exists.
  package func with<Result: Sendable>(
    _ name: String, _ body: @Sendable (any SpaceStore) async throws -> Result
  ) async throws -> Result {
    try await with(name, creates: false, body)
  }
}
