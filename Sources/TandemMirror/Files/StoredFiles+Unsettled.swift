public import TandemHTTP

extension StoredFiles {
  static let asideName = ".tandem"
  static let unsettledName = "unsettled"

  /// The names that ``FileStore/setUnsettled(_:)`` was told.
  public func unsettledNames() throws(TransportError) -> Set<FileName> {
    let lines = try directory?.note("\(Self.asideName)/\(Self.unsettledName)")?.split(
      separator: "\n")
    return Set((lines ?? []).compactMap { FileName(stored: String($0)) })
  }
}

extension FileStore {
  /// Notes, durably, the files of which the owner cannot tell which version they have: it is about to
  /// have them replaced, and has not recorded yet that they are.
  public func setUnsettled(_ names: Set<FileName>) throws(TransportError) {
    guard !names.isEmpty else { return try aside.remove(StoredFiles.unsettledName) }
    let text = names.sorted().map(\.text).joined(separator: "\n")
    try aside.replaceNote(
      StoredFiles.unsettledName, with: text, isSynchronized: isSynchronized)
  }
}
