internal import TandemHTTP

/// Texts that a directory keeps about itself.
extension Directory {
  private static let maxNoteByteCount = 1 << 30

  /// The text of a file; `nil` if there is none.
  func note(_ path: String) throws(TransportError) -> String? {
    guard byteCount(of: path) != nil else { return nil }
    guard let bytes = contents(of: path, maxByteCount: Self.maxNoteByteCount) else {
      throw TransportError(.cannotRead, "the file cannot be read", path: "\(self.path)/\(path)")
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Writes a file that nobody else may read, all of it or nothing.
  func replaceNote(
    _ name: String, with text: String, isSynchronized: Bool
  ) throws(TransportError) {
    let newName = "\(name).new"
    let file = try open(newName, .create, isPrivate: true)
    try file.write(Array(text.utf8))
    if isSynchronized { try file.synchronize() }
    try move(newName, to: name, in: self)
    if isSynchronized { try synchronize() }
  }
}
