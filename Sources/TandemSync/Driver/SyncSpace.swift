/// A space that replicas synchronize with.
///
/// The module that reaches the space makes the value, such as `SyncSpace.file(_:creates:)` of
/// TandemSpace. Any number of replicas of this process may use one value at the same time.
public struct SyncSpace: Sendable {
  /// The mark of a space's file in the header of SQLite's: "TSpc".
  package static let applicationID: Int64 = 0x5453_7063

  /// The name by which the space can be found again: the absolute path of a space in a file.
  public private(set) var name: String
  /// The space, as a driver reaches it.
  package let remote: any SyncRemote
  private let head: @Sendable () async throws -> SpaceRevision
  private let end: @Sendable () async -> Void

  /// Creates a space.
  ///
  /// - Parameters:
  ///   - head: Returns the current revision.
  ///   - end: Releases the resources of the space.
  package init(
    name: String, remote: some SyncRemote,
    head: @escaping @Sendable () async throws -> SpaceRevision,
    end: @escaping @Sendable () async -> Void
  ) {
    self.name = name
    self.remote = remote
    self.head = head
    self.end = end
  }

  /// The same space by another name, such as a path through a link.
  package func renamed(_ name: String) -> SyncSpace {
    var space = self
    space.name = name
    return space
  }

  /// The part of a space's name that says where it is: a path, or a URL without its fragment, which says how the
  /// space is reached.
  package static func place(ofName name: String) -> Substring {
    name.hasPrefix("/") ? name[...] : name.prefix { $0 != "#" }
  }

  /// The current revision of the space.
  ///
  /// - Throws: ``SyncRequestError`` with code `unavailable` if the space cannot answer now; another
  ///   error if it cannot be reached.
  public func revision() async throws -> SpaceRevision { try await head() }

  /// Closes the file of the space; synchronizations that use it fail from now on. A space of a server
  /// has nothing to close, and stays usable.
  public func close() async { await end() }
}
