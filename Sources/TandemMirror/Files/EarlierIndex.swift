internal import TandemDigests
internal import TandemHTTP
internal import TandemRecords

/// The index of a directory as earlier versions kept it, in texts: `.tandem/owner` in JSON, and in each folder
/// `.tandem/catalog` and `.tandem/unsettled`, with a line for each file.
///
/// It is read, and removed when it has been written to a ``FileIndex``. Partial downloads are not taken over.
struct EarlierIndex {
  private(set) var contents = FileIndex.Contents()

  /// The path of the owner's file in a directory.
  static let ownerPath = "\(FileIndex.directoryName)/owner"
  private static let maxByteCount = 1 << 30

  /// Reads what there is in a directory; `nil` if there is nothing.
  init?(_ directory: Directory) throws(TransportError) {
    guard let owner = directory.contents(of: Self.ownerPath, maxByteCount: Self.maxByteCount) else {
      readFiles(in: directory, folder: "")
      if contents.files.isEmpty, contents.dirty.isEmpty { return nil }
      return
    }
    guard readOwner(owner) else {
      throw TransportError(
        .cannotRead, "the file \(Self.ownerPath) cannot be read; choose another directory",
        url: directory.path)
    }
    for folder in contents.folders.keys {
      if let inner = try Directory(existing: folder, in: directory) {
        readFiles(in: inner, folder: folder)
      }
    }
  }

  private mutating func readOwner(_ bytes: [UInt8]) -> Bool {
    guard let records = try? RecordReader.records(in: bytes, format: .json),
      let owner = records.first?["owner"].textValue
    else { return false }
    contents.owner = owner
    for record in records.dropFirst() {
      // A name with a slash in it would lead out of the directory.
      guard let name = record["folder"].textValue, FileName(stored: name) != nil,
        let field = record["field"].textValue
      else { return false }
      contents.folders[name] = FileIndex.Folder(
        field: field, digestField: record["sha256"].textValue,
        byteCountField: record["length"].textValue)
    }
    return true
  }

  private mutating func readFiles(in directory: Directory, folder: String) {
    func lines(_ name: String) -> [ArraySlice<UInt8>] {
      let path = "\(FileIndex.directoryName)/\(name)"
      return directory.contents(of: path, maxByteCount: Self.maxByteCount)?
        .split(separator: UInt8(ascii: "\n")) ?? []
    }
    for line in lines("catalog") { readFile(line, folder: folder) }
    for line in lines("unsettled") {
      guard let name = FileName(stored: String(decoding: line, as: UTF8.self)) else { continue }
      contents.dirty.insert(.init(folder: folder, name: name))
    }
  }

  /// Reads a line: `+`, the name, the length, the URL, the digest, the entity tag, the date and a point, or `-`,
  /// the name and a point. The last line may be cut off, and is ignored then.
  private mutating func readFile(_ line: ArraySlice<UInt8>, folder: String) {
    let parts = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    guard parts.count > 2, parts.last == ".", let name = FileName(stored: parts[1]) else { return }
    let address = FileIndex.Address(folder: folder, name: name)
    contents.files[address] = nil
    guard parts[0] == "+", parts.count == 8, let byteCount = Int(parts[2]) else { return }
    func text(_ position: Int) -> String? { parts[position].isEmpty ? nil : parts[position] }
    contents.files[address] = StoredFile(
      name: name, url: parts[3],
      validators: HTTPValidators(entityTag: text(5), lastModified: text(6)),
      byteCount: byteCount, sha256: text(4).flatMap { SHA256Digest(hexadecimal: $0) })
  }

  /// Removes the files of earlier versions, with the hidden directories of folders.
  static func remove(from directory: Directory, folders: [String]) throws(TransportError) {
    for name in ["owner", "catalog", "unsettled"] {
      try directory.remove("\(FileIndex.directoryName)/\(name)")
    }
    for folder in folders {
      guard let folder = try Directory(existing: folder, in: directory),
        let hidden = try Directory(existing: FileIndex.directoryName, in: folder)
      else { continue }
      for name in try hidden.names() { try hidden.remove(name) }
      try folder.removeDirectory(FileIndex.directoryName)
    }
  }
}
