internal import TandemRecords

/// The text of a list, which arrives in chunks.
///
/// An array of JSON, or NDJSON, can be read as it arrives: then only its records are kept, packed. Any other
/// text is kept until its end.
struct ListBody {
  /// The bytes, unless they are read as they arrive.
  private(set) var bytes: [UInt8] = []
  /// The records, if the bytes are read as they arrive.
  private(set) var records = PackedRecords()
  /// The number of bytes that have arrived.
  private(set) var byteCount = 0
  /// The paths to lists inside the object or array that the text begins with, as far as its first bytes show them.
  private var innerLists: [String] = []
  private var stream: RecordStream?
  private var isBegun = false

  /// The number of bytes that show what a text is.
  private static let headByteCount = 16

  /// True if the text has been read as it arrived.
  var isRead: Bool { stream != nil }

  /// Adds the next bytes.
  ///
  /// - Parameter begin: Called with the first bytes of the text, among them one that is no white space. Returns
  ///   the format to read the text in as it arrives; `nil` to keep it.
  mutating func append(
    _ chunk: UnsafeRawBufferPointer, begin: (_ head: [UInt8]) throws -> RecordFormat?
  ) throws {
    byteCount += chunk.count
    if isRead { return try read(chunk) }
    bytes.append(contentsOf: chunk)
    guard !isBegun, bytes.count >= Self.headByteCount, bytes.contains(where: { $0 > 0x20 }) else {
      return
    }
    isBegun = true
    noteInnerLists()
    guard let format = try begin(bytes) else { return }
    stream = RecordStream(format: format)
    try bytes.withUnsafeBytes { try read($0) }
    bytes = []
  }

  /// Ends the text, whose bytes are decompressed by a function unless they have been read.
  mutating func finish(_ plain: ([UInt8]) throws -> [UInt8]) throws {
    guard isRead else {
      bytes = try plain(bytes)
      byteCount = bytes.count
      noteInnerLists()
      return
    }
    var records = PackedRecords()
    swap(&records, &self.records)
    do { try stream?.finish(into: &records) } catch { throw advising(error) }
    swap(&records, &self.records)
  }

  private mutating func read(_ chunk: UnsafeRawBufferPointer) throws(RecordError) {
    var records = PackedRecords()
    swap(&records, &self.records)
    do { try stream?.read(chunk, into: &records) } catch { throw advising(error) }
    swap(&records, &self.records)
  }
}

// MARK: - A list inside the text

extension ListBody {
  private mutating func noteInnerLists() {
    innerLists = bytes.withUnsafeBytes { JSONCursor.listPaths(in: $0) }
  }

  /// An error of reading the text, with the option that reads a list inside of it, if there is one.
  func advising(_ error: RecordError) -> RecordError {
    // An object is the first record, and an array in an array a later one.
    let isInside = error.record.map { $0 == 1 || innerLists.contains("\($0 - 1)") } ?? true
    guard isInside, !innerLists.isEmpty, [.malformed, .notARecord].contains(error.code) else {
      return error
    }
    var error = error
    error.message +=
      "; if the list is inside, use \(JSONCursor.advice(forListsAt: innerLists))"
    return error
  }
}
