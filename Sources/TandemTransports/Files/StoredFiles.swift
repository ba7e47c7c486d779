/// The complete files that are in the directory of a ``FileStore``, whoever has the store.
///
/// Nothing is written: a directory that does not exist has no files.
public struct StoredFiles: Sendable {
  let directory: Directory?

  init(in directory: Directory) { self.directory = directory }

  /// The files of a directory.
  ///
  /// - Parameters:
  ///   - path: The directory, or, if a folder is named, the one around it.
  ///   - folder: The directory's name in `path`.
  /// - Throws: ``TransportError/Code/cannotRead`` if there is something else, or it cannot be opened.
  public init(path: String, folder: FileName? = nil) throws(TransportError) {
    directory = try Directory(existing: folder.map { "\(path)/\($0)" } ?? path)
  }

  /// The names of all complete files, ascending.
  public func names() throws(TransportError) -> [FileName] {
    guard let directory else { return [] }
    return try directory.names().compactMap { FileName(stored: $0) }
      .filter { directory.byteCount(of: $0.text) != nil }.sorted()
  }

  /// How long a file is; `nil` if there is none.
  public func byteCount(of name: FileName) -> Int? { directory?.byteCount(of: name.text) }
}
