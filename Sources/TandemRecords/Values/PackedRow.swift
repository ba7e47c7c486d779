/// The values of a row as bytes, one after the other: a tag, and for texts and blobs their length.
///
/// Rows with the same number of columns are stored identically if and only if their bytes are equal,
/// and no packed row is the beginning of another one. So a row can be compared with kept ones, and
/// kept, without an allocation.
package enum PackedRow {
  /// The type of a value, and the number of bytes of an integer.
  package enum Tag {
    package static var null: UInt8 { 0 }
    package static var byte: UInt8 { 1 }
    package static var word: UInt8 { 2 }
    package static var integer: UInt8 { 3 }
    package static var real: UInt8 { 4 }
    package static var text: UInt8 { 5 }
    package static var blob: UInt8 { 6 }
  }

  /// Appends a row.
  package static func append(_ values: [FieldValue], to bytes: inout [UInt8]) {
    for value in values { append(value, to: &bytes) }
  }

  /// Appends a value.
  package static func append(_ value: FieldValue, to bytes: inout [UInt8]) {
    switch value {
    case .integer(let number): append(number, to: &bytes)
    case .real(let number): append(number, to: &bytes)
    case .text(let text):
      UTF8Order.withBytes(of: text) { append($0, tag: Tag.text, to: &bytes) }
    case .blob(let blob): blob.withUnsafeBytes { append($0, tag: Tag.blob, to: &bytes) }
    case .null: bytes.append(Tag.null)
    }
  }

  /// Appends a null.
  package static func appendNull(to bytes: inout [UInt8]) { bytes.append(Tag.null) }

  /// Appends an integer.
  package static func append(_ number: Int64, to bytes: inout [UInt8]) {
    if let byte = Int8(exactly: number) {
      bytes.append(Tag.byte)
      bytes.append(UInt8(bitPattern: byte))
    } else if let word = Int32(exactly: number) {
      append(word, tag: Tag.word, to: &bytes)
    } else {
      append(number, tag: Tag.integer, to: &bytes)
    }
  }

  /// Appends a real.
  package static func append(_ number: Double, to bytes: inout [UInt8]) {
    // SQLite stores a NaN as null.
    if number.isNaN { bytes.append(Tag.null) } else { append(number, tag: Tag.real, to: &bytes) }
  }

  private static func append<Number: BitwiseCopyable>(
    _ number: Number, tag: UInt8, to bytes: inout [UInt8]
  ) {
    bytes.append(tag)
    withUnsafeBytes(of: number) { bytes.append(contentsOf: $0) }
  }

  /// Appends a text or a blob. A text may be invalid UTF-8.
  package static func append(_ data: UnsafeRawBufferPointer, tag: UInt8, to bytes: inout [UInt8]) {
    bytes.append(tag)
    append(count: data.count, to: &bytes)
    bytes.append(contentsOf: data)
  }

  /// The number of counts that take one byte.
  static var countsOfOneByte: Int { 0x80 }

  /// Appends a number that is not negative, seven bits in each byte (LEB128).
  package static func append(count: Int, to bytes: inout [UInt8]) {
    var count = count
    while count >= countsOfOneByte {
      bytes.append(UInt8(truncatingIfNeeded: count) | 0x80)
      count >>= 7
    }
    bytes.append(UInt8(count))
  }

  /// Reads the values of packed rows, one after the other, of memory that this type wrote.
  package struct Reader {
    private let start: UnsafeRawPointer
    private var position: UnsafeRawPointer

    package init(_ start: UnsafeRawPointer) {
      self.start = start
      position = start
    }

    /// The number of bytes read and skipped.
    package var byteCount: Int { position - start }

    /// The next value.
    package mutating func next() -> FieldValue {
      switch take(UInt8.self) {
      case Tag.byte: .integer(Int64(take(Int8.self)))
      case Tag.word: .integer(Int64(take(Int32.self)))
      case Tag.integer: .integer(take(Int64.self))
      case Tag.real: .real(take(Double.self))
      case Tag.text: .text(String(decoding: takeData(), as: UTF8.self))
      case Tag.blob: .blob(Array(takeData()))
      default: .null
      }
    }

    /// Skips some values.
    package mutating func skip(_ count: Int) {
      for _ in 0..<count {
        switch take(UInt8.self) {
        case Tag.byte: position += 1
        case Tag.word: position += 4
        case Tag.integer, Tag.real: position += 8
        case Tag.text, Tag.blob: _ = takeData()
        default: break
        }
      }
    }

    private mutating func take<Value: BitwiseCopyable>(_ type: Value.Type) -> Value {
      defer { position += MemoryLayout<Value>.size }
      return position.loadUnaligned(as: type)
    }

    private mutating func takeData() -> UnsafeRawBufferPointer {
      let count = nextCount()
      defer { position += count }
      return UnsafeRawBufferPointer(start: position, count: count)
    }

    /// The next number that was appended as a count.
    package mutating func nextCount() -> Int {
      var count = 0
      var shift = 0
      while true {
        let byte = take(UInt8.self)
        count |= Int(byte & 0x7F) << shift
        if byte < 0x80 { return count }
        shift += 7
      }
    }
  }
}
