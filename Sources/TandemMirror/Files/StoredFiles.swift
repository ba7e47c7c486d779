public import TandemHTTP

/// The complete files that are in the directory of a ``FileStore``, whoever has the store.
///
/// Nothing is written: a directory that does not exist has no files.
public struct StoredFiles: Sendable {
  let directory: Directory?
  /// How long a file was when it was stored, if that is known.
  private let storedByteCount: @Sendable (FileName) -> Int?

  init(in directory: Directory, storedByteCount: @escaping @Sendable (FileName) -> Int?) {
    self.directory = directory
    self.storedByteCount = storedByteCount
  }

  /// The files of a directory, and what is known of them now.
  ///
  /// - Parameters:
  ///   - path: The directory, or, if a folder is named, the one around it.
  ///   - folder: The directory's name in `path`.
  /// - Throws: ``TransportError/Code/cannotRead`` if there is something else, or it cannot be opened.
  public init(path: String, folder: FileName? = nil) throws(TransportError) {
    let directory = try Directory(existing: folder.map { "\(path)/\($0)" } ?? path)
    let known = directory.map(FileCatalog.files) ?? [:]
    self.directory = directory
    storedByteCount = { known[$0]?.byteCount }
  }

  /// The names of all complete files, ascending.
  public func names() throws(TransportError) -> [FileName] {
    guard let directory else { return [] }
    return try directory.names().compactMap { FileName(stored: $0) }
      .filter { directory.byteCount(of: $0.text) != nil }.sorted()
  }

  /// How long a file is; `nil` if there is none.
  public func byteCount(of name: FileName) -> Int? { directory?.byteCount(of: name.text) }

  /// Whether a file is there, and as long as when it was stored, if that is known.
  public func isIntact(_ name: FileName) -> Bool {
    guard let byteCount = byteCount(of: name) else { return false }
    return storedByteCount(name).map { $0 == byteCount } ?? true
  }
}
