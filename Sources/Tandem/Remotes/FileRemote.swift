public import TandemDifferences
public import TandemSync

/// A remote in a file, for processes of one machine or for a shared folder.
///
/// <!-- Snippets/CodeInComments.swift fileRemote -->
/// ```swift
/// let file = FileRemote<Note>(path: "/srv/team/notes.json")
/// ```
///
/// The file is one JSON document with the records and the latest commits. A push locks `PATH.tandem-lock`, reads the
/// file, checks the condition, and replaces the file: it writes a new file beside it, synchronizes it to disk and
/// renames it. So readers see the old contents or the new ones, also after a power failure, and an accepted push is
/// durable. The file keeps its permissions, and a symbolic link stays one. The owner of the file is the user whose
/// program pushed last.
///
/// The lock is advisory (`flock(2)`): a program that writes the file by other means can lose pushes. On a network
/// file system, the lock must work between machines. A folder that a service synchronizes by copying files, such as
/// Dropbox, has no such lock: use ``HTTPRemote``.
///
/// A file that was restored from a backup has an old commit in a known epoch: call ``restartHistory()``, so that the
/// ``/TandemSync/EpochPolicy`` of each client decides. Otherwise the clients take the records that the backup lacks
/// for deleted.
public struct FileRemote<Element: Codable & Sendable>: ConditionalRemote {
  /// The path of the file.
  public let path: String
  /// The maximum length of a document to read or write, in bytes.
  public let maxByteCount: Int
  private let file: LockedFile

  /// Creates a remote in a file, which need not exist.
  ///
  /// - Parameters:
  ///   - path: The path of the file. Its folder must exist.
  ///   - maxByteCount: The longest document to read or write; 64 MiB by default.
  public init(path: String, maxByteCount: Int = 64 << 20) {
    self.path = path
    self.maxByteCount = maxByteCount
    file = LockedFile(path: path)
  }

  /// Reads the file; needs no lock. A file that does not exist is absent contents.
  ///
  /// - Throws: ``RemoteError``.
  public func pull() async throws -> (elements: [Element], revision: RemoteRevision)? {
    try document()?.contents
  }

  /// Replaces the file if it is at the revision and the token is new. Waits up to ten seconds for the lock.
  ///
  /// - Throws: ``RemoteError``; `CancellationError` if the task is cancelled while it waits for the lock.
  public func push(
    _ contents: [Element], difference: SetDifference<Element>, at revision: RemoteRevision?,
    token: String
  ) async throws -> RemoteRevision? {
    try await file.withLock {
      switch RemoteDocument.decide(contents, at: revision, token: token, current: try document()) {
      case .reply(let reply): return reply
      case .store(let new):
        try file.replace(with: try new.bytes(for: path, maxByteCount: maxByteCount))
        return new.revision
      }
    }
  }

  /// Begins a new epoch with the records of the file. Call it after the file was restored from a backup.
  ///
  /// - Throws: ``RemoteError``, `CancellationError`. Does nothing if there is no file.
  public func restartHistory() async throws {
    try await file.withLock {
      guard let restarted = try document()?.restarted else { return }
      try file.replace(with: try restarted.bytes(for: path, maxByteCount: maxByteCount))
    }
  }

  private func document() throws(RemoteError) -> RemoteDocument<Element>? {
    guard let bytes = try file.bytes(maxByteCount: maxByteCount) else { return nil }
    return try RemoteDocument(bytes, from: path)
  }
}
