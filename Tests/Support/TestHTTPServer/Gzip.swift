/// `bytes` in gzip format (RFC 1952), stored without compression in blocks of up to 65,535 bytes.
package func gzip(storing bytes: [UInt8]) -> [UInt8] {
  var data: [UInt8] = []
  var rest = bytes[...]
  repeat {
    let block = rest.prefix(65_535)
    rest = rest.dropFirst(65_535)
    let count = UInt16(block.count)
    data.append(rest.isEmpty ? 1 : 0)
    data += littleEndian(count) + littleEndian(~count) + block
  } while !rest.isEmpty
  return gzipHeader + data + littleEndian(crc32(bytes)) + littleEndian(UInt32(bytes.count))
}

/// A gzip stream of `1 + 258 * runCount` zeros, of which it takes 13 bits for 258; its checksum is
/// wrong, so that it decodes without an error only as far as nobody reads to its end.
package func gzipBomb(runCount: Int) -> [UInt8] {
  var bits = BitWriter()
  bits.append(0b011, count: 3)  // the last block, with the fixed codes of RFC 1951, section 3.2.6
  bits.append(reversed(0b0011_0000, count: 8), count: 8)  // the byte 0
  for _ in 0..<runCount {
    bits.append(reversed(0b1100_0101, count: 8), count: 8)  // length 258
    bits.append(0, count: 5)  // distance 1
  }
  bits.append(0, count: 7)  // end
  return gzipHeader + bits.bytes + [0, 0, 0, 0, 0, 0, 0, 0]
}

private let gzipHeader: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]

private func littleEndian<T: FixedWidthInteger>(_ value: T) -> [UInt8] {
  withUnsafeBytes(of: value.littleEndian) { Array($0) }
}

private func reversed(_ code: UInt32, count: UInt32) -> UInt32 {
  (0..<count).reduce(0) { $0 | (code >> $1 & 1) << (count - 1 - $1) }
}

private struct BitWriter {
  private var pending: UInt32 = 0
  private var pendingCount: UInt32 = 0
  private var written: [UInt8] = []

  var bytes: [UInt8] { pendingCount > 0 ? written + [UInt8(truncatingIfNeeded: pending)] : written }

  mutating func append(_ bits: UInt32, count: UInt32) {
    pending |= bits << pendingCount
    pendingCount += count
    while pendingCount >= 8 {
      written.append(UInt8(truncatingIfNeeded: pending))
      pending >>= 8
      pendingCount -= 8
    }
  }
}

private func crc32(_ bytes: [UInt8]) -> UInt32 {
  ~bytes.reduce(~0) { crc, byte in
    (0..<8).reduce(crc ^ UInt32(byte)) { crc, _ in crc >> 1 ^ (crc & 1 == 1 ? 0xEDB8_8320 : 0) }
  }
}
