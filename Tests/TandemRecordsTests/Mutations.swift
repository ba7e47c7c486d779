import TandemRecords
import Testing

/// Reads a text after every change of one byte to any of those that mean something to a format, and
/// after every loss of one byte; whatever is refused must have a place inside the text.
func expectNoTraps(_ text: String, _ format: RecordFormat) throws {
  let bytes = Array(text.utf8)
  let meaningful = Array("\"\\{}[],:0-e.un \n\r\t".utf8) + [0x00, 0x80, 0xC3, 0xE2, 0xF0, 0xFF]
  for offset in bytes.indices {
    var changed = bytes
    for byte in meaningful + [bytes[offset] ^ 1, bytes[offset] ^ 0x20, bytes[offset] &+ 1] {
      changed[offset] = byte
      try expectPlace(of: error(changed, format), in: changed)
    }
    changed = bytes
    changed.remove(at: offset)
    try expectPlace(of: error(changed, format), in: changed)
  }
}

private func expectPlace(of error: RecordError?, in bytes: [UInt8]) throws {
  guard let error else { return }
  let line = try #require(error.line)
  let column = try #require(error.column)
  let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
  try #require((1...lines.count).contains(line), "\(error)")
  try #require((1...lines[line - 1].count + 1).contains(column), "\(error)")
  try #require(error.record ?? 1 >= 1 && !error.message.isEmpty)
}
