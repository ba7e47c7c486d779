extension StoredFiles {
  static let asideName = ".tandem"
  static let ownerName = "owner"
  static let unsettledName = "unsettled"

  private static let maxNoteByteCount = 1 << 30

  /// Whether the directory is an owner's; not if it is nobody's, and nothing is in it.
  ///
  /// - Parameter owner: What ``FileStore/claim(for:)`` was told; `nil` for one that has claimed none.
  /// - Throws: ``TransportError/Code/cannotWrite`` if the directory is another owner's, or nobody's
  ///   with files in it; hidden ones do not count.
  public func isClaimed(by owner: String?) throws(TransportError) -> Bool {
    guard let directory else { return false }
    if let found = try note(Self.ownerName) {
      guard found == owner else {
        throw TransportError(
          .cannotWrite,
          "its files are those of another mirror: of another database, table, key or field; "
            + "choose another directory", url: directory.path)
      }
      return true
    }
    guard try directory.names().allSatisfy({ $0.hasPrefix(".") }) else {
      throw TransportError(
        .cannotWrite, "it holds files that no mirror put there; choose an empty directory",
        url: directory.path)
    }
    return false
  }

  /// The names that ``FileStore/setUnsettled(_:)`` was told.
  public func unsettledNames() throws(TransportError) -> Set<FileName> {
    let lines = try note(Self.unsettledName)?.split(separator: "\n") ?? []
    return Set(lines.compactMap { FileName(stored: String($0)) })
  }

  /// The text of a file that is aside; `nil` if there is none.
  private func note(_ name: String) throws(TransportError) -> String? {
    let path = "\(Self.asideName)/\(name)"
    guard let directory, directory.byteCount(of: path) != nil else { return nil }
    guard let bytes = directory.contents(of: path, maxByteCount: Self.maxNoteByteCount) else {
      throw TransportError(
        .cannotRead, "the file cannot be read", url: "\(directory.path)/\(path)")
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension FileStore {
  /// Makes the directory an owner's for good, if it is not already: nobody else is to fill or sweep it.
  ///
  /// - Parameter owner: A text that no other owner has.
  /// - Throws: What ``StoredFiles/isClaimed(by:)`` does.
  public func claim(for owner: String) throws(TransportError) {
    guard try !files.isClaimed(by: owner) else { return }
    try replaceNote(StoredFiles.ownerName, with: owner)
  }

  /// Notes, durably, the files of which the owner cannot tell which version they have: it is about to
  /// have them replaced, and has not recorded yet that they are.
  public func setUnsettled(_ names: Set<FileName>) throws(TransportError) {
    guard !names.isEmpty else { return try aside.remove(StoredFiles.unsettledName) }
    let text = names.sorted().map(\.text).joined(separator: "\n")
    try replaceNote(StoredFiles.unsettledName, with: text)
  }

  /// Writes a file that is aside, all of it or nothing.
  private func replaceNote(_ name: String, with text: String) throws(TransportError) {
    let newName = "\(name).new"
    let file = try aside.open(newName, .create)
    try file.write(Array(text.utf8))
    if isSynchronized { try file.synchronize() }
    try aside.move(newName, to: name, in: aside)
    if isSynchronized { try aside.synchronize() }
  }
}
