extension ContentMirror {
  /// Whether all files that a row points to are there, and as they were stored.
  func areThere(_ paths: [String?]) -> Bool {
    zip(paths, contents.indices).allSatisfy { $0 == nil || isThere($0, at: $1) }
  }

  /// The name of the file that a row points to; `nil` if it points to none of this content.
  func fileName(_ path: String?, of content: MirroredContent) -> FileName? {
    let prefix = "\(content.folder)/"
    guard let path, path.hasPrefix(prefix) else { return nil }
    return FileName(stored: String(path.dropFirst(prefix.count)))
  }

  /// The names of all files that a row points to, with the positions of their contents.
  func names(_ paths: [String?]) -> [(position: Int, name: FileName)] {
    zip(contents.indices, paths).compactMap { position, path in
      fileName(path, of: contents[position]).map { (position, $0) }
    }
  }

  /// Whether the file that a row points to is there, and as long as it was when it was stored.
  func isThere(_ file: String?, at position: Int) -> Bool {
    guard let name = fileName(file, of: contents[position]) else { return false }
    return files[position].isIntact(name)
  }
}
