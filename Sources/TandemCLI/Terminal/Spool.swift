/// Stores the elements of a JSON array in a temporary file, so that memory does not grow with their number.
/// The file is removed with the process.
struct Spool {
  private(set) var count = 0
  private let file: UnsafeMutablePointer<FILE>
  private var buffer: [UInt8] = []

  private static let bufferByteCount = 64 << 10

  init() throws(OutputError) {
    guard let file = tmpfile() else { throw OutputError(code: errno) }
    self.file = file
  }

  /// Adds an element, which `body` appends as text.
  mutating func append(_ body: (inout [UInt8]) -> Void) throws(OutputError) {
    if count > 0 { buffer.append(UInt8(ascii: ",")) }
    count += 1
    body(&buffer)
    if buffer.count >= Self.bufferByteCount {
      guard fwrite(buffer, 1, buffer.count, file) == buffer.count else {
        throw OutputError(code: errno)
      }
      buffer.removeAll(keepingCapacity: true)
    }
  }

  /// Copies the elements, with commas between them. No element can be added afterwards.
  mutating func copy(to output: OutputStream) throws(OutputError) {
    // Closing comes last, whatever happens; rewind would forget an error of the flush.
    defer { fclose(file) }
    guard fflush(file) == 0 else { throw OutputError(code: errno) }
    rewind(file)
    var chunk = [UInt8](repeating: 0, count: Self.bufferByteCount)
    while true {
      let count = fread(&chunk, 1, chunk.count, file)
      if count == 0 { break }
      try output.write { $0.append(contentsOf: chunk[..<count]) }
    }
    guard ferror(file) == 0 else { throw OutputError(code: errno) }
    try output.write { $0.append(contentsOf: buffer) }
  }
}
