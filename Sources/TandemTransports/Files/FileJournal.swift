/// The files of a store that are complete although nobody else has noted them yet, in a file that
/// grows by a line for each: so an interrupted run need not fetch them again.
///
/// A line is written after its file has its name, and a line that takes it back before it gets new
/// content: what a line says is true. The last line may be cut off, and then is none.
struct FileJournal {
  private let file: OpenFile
  private(set) var files: [FileName: StoredFile] = [:]

  private static let name = "journal"
  private static let maxByteCount = 1 << 30
  private static let separator = UInt8(ascii: "\t")

  init(in directory: Directory) throws(TransportError) {
    let bytes = directory.contents(of: Self.name, maxByteCount: Self.maxByteCount) ?? []
    file = try directory.open(Self.name, .append)
    for line in bytes.split(separator: UInt8(ascii: "\n")) { read(line) }
    // A line that was cut off would swallow the next one.
    if bytes.last.map({ $0 != UInt8(ascii: "\n") }) ?? false { try file.write([10]) }
  }

  /// Notes that a file is complete.
  mutating func add(_ stored: StoredFile) throws(TransportError) {
    files[stored.name] = stored
    try write([
      "+", stored.name.text, "\(stored.byteCount)", stored.url,
      stored.validators.entityTag ?? "", stored.validators.lastModified ?? "", ".",
    ])
  }

  /// Forgets a file; does nothing if it is not noted.
  mutating func remove(_ name: FileName) throws(TransportError) {
    guard files.removeValue(forKey: name) != nil else { return }
    try write(["-", name.text, "."])
  }

  /// Forgets all.
  mutating func removeAll() throws(TransportError) {
    files = [:]
    try file.truncate(to: 0)
  }

  private func write(_ parts: [String]) throws(TransportError) {
    try file.write(Array((parts.joined(separator: "\t") + "\n").utf8))
  }

  private mutating func read(_ line: ArraySlice<UInt8>) {
    let parts = line.split(separator: Self.separator, omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    guard parts.count > 1, parts.last == ".", let name = FileName(stored: parts[1]) else { return }
    files[name] = nil
    guard parts[0] == "+", parts.count == 7, let byteCount = Int(parts[2]) else { return }
    let validators = HTTPValidators(
      entityTag: parts[4].isEmpty ? nil : parts[4], lastModified: parts[5].isEmpty ? nil : parts[5])
    files[name] = StoredFile(
      name: name, url: parts[3], validators: validators, byteCount: byteCount)
  }
}
