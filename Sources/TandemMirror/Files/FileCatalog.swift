internal import TandemDigests
internal import TandemHTTP

/// What is known of the complete files of a store, in a file that grows by a line for each change: so
/// servers can be asked whether a file is still current, also by a run after one that was killed.
///
/// A line is written after its file has its name, and a line that takes it back before the file gets
/// new content: what a line says is true. The last line may be cut off, and then is none.
struct FileCatalog {
  private let file: OpenFile
  private(set) var files: [FileName: StoredFile]

  private static let name = "catalog"
  private static let newName = "catalog.new"
  private static let maxByteCount = 1 << 30
  private static let lineFeed = UInt8(ascii: "\n")

  /// Opens the catalog in the directory for what is aside.
  init(in directory: Directory) throws(TransportError) {
    let bytes = directory.contents(of: Self.name, maxByteCount: Self.maxByteCount) ?? []
    let lines = bytes.split(separator: Self.lineFeed)
    let files = Self.files(in: lines)
    if lines.count > 2 * files.count || bytes.last.map({ $0 != Self.lineFeed }) ?? false {
      // A line that was cut off would swallow the next one; lines taken back would add up.
      let newFile = try directory.open(Self.newName, .create, isPrivate: true)
      try newFile.write(files.values.flatMap(Self.line))
      try directory.move(Self.newName, to: Self.name, in: directory)
    }
    file = try directory.open(Self.name, .append, isPrivate: true)
    self.files = files
  }

  /// What the catalog of a store's directory says, whoever has the store; nothing is written.
  static func files(in directory: Directory) -> [FileName: StoredFile] {
    let path = "\(StoredFiles.asideName)/\(name)"
    let bytes = directory.contents(of: path, maxByteCount: maxByteCount) ?? []
    return files(in: bytes.split(separator: lineFeed))
  }

  private static func files(in lines: [ArraySlice<UInt8>]) -> [FileName: StoredFile] {
    var files: [FileName: StoredFile] = [:]
    for line in lines { read(line, into: &files) }
    return files
  }

  /// Notes that a file is complete.
  mutating func add(_ stored: StoredFile) throws(TransportError) {
    files[stored.name] = stored
    try file.write(Self.line(stored))
  }

  /// Forgets a file; does nothing if it is not noted.
  mutating func remove(_ name: FileName) throws(TransportError) {
    guard files.removeValue(forKey: name) != nil else { return }
    try file.write(Self.line(["-", name.text]))
  }

  private static func line(_ stored: StoredFile) -> [UInt8] {
    line([
      "+", stored.name.text, "\(stored.byteCount)", stored.url,
      stored.sha256.map { "\($0)" } ?? "", stored.validators.entityTag ?? "",
      stored.validators.lastModified ?? "",
    ])
  }

  private static func line(_ parts: [String]) -> [UInt8] {
    Array((parts + [".\n"]).joined(separator: "\t").utf8)
  }

  private static func read(_ line: ArraySlice<UInt8>, into files: inout [FileName: StoredFile]) {
    let parts = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    guard parts.count > 2, parts.last == ".", let name = FileName(stored: parts[1]) else { return }
    files[name] = nil
    guard parts[0] == "+", parts.count == 8, let byteCount = Int(parts[2]) else { return }
    func text(_ position: Int) -> String? { parts[position].isEmpty ? nil : parts[position] }
    files[name] = StoredFile(
      name: name, url: parts[3],
      validators: HTTPValidators(entityTag: text(5), lastModified: text(6)),
      byteCount: byteCount, sha256: text(4).flatMap { SHA256Digest(hexadecimal: $0) })
  }
}
