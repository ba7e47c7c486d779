package import TandemDigests

/// A place that keeps access tokens, and in which they can be changed: a file, or the database of spaces.
package protocol TokenPlace: Sendable {
  /// The name for messages.
  var name: String { get }
  /// The tokens, and the times of their last uses in seconds since 1970.
  func read() async throws -> (tokens: TokenList, uses: [SHA256Digest: Int])
  /// Changes the tokens while nobody else does.
  ///
  /// - Parameter creates: True if a place that is missing is made.
  func change(
    creates: Bool, _ body: @escaping @Sendable (inout TokenList) throws -> Void
  ) async throws
  /// Ends connections.
  func end() async
}
