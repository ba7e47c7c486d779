/// The values of a row as bytes, one after the other: a tag, and for texts and blobs their length.
///
/// Rows with the same number of columns are stored identically if and only if their bytes are equal,
/// and no packed row is the beginning of another one. So a row can be compared with kept ones, and
/// kept, without an allocation.
package struct PackedRow: Sendable {
  /// The type of a value, and the number of bytes of an integer.
  private enum Tag {
    static var null: UInt8 { 0 }
    static var byte: UInt8 { 1 }
    static var word: UInt8 { 2 }
    static var integer: UInt8 { 3 }
    static var real: UInt8 { 4 }
    static var text: UInt8 { 5 }
    static var blob: UInt8 { 6 }
  }

  /// The row's bytes, and room for more.
  private var room: [UInt8] = []
  /// The number of bytes of the row.
  package private(set) var byteCount = 0

  /// A row without values.
  package init() {}

  /// A row of some values.
  package init(_ values: [FieldValue]) { append(contentsOf: values) }

  /// Calls `body` with the bytes of the row.
  package func withBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
    room.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[..<byteCount])) }
  }
}

extension PackedRow {
  /// Removes all values, and keeps the memory for others.
  package mutating func removeAll() { byteCount = 0 }

  /// Appends some values.
  package mutating func append(contentsOf values: [FieldValue]) {
    for value in values { append(value) }
  }

  /// Appends a value.
  package mutating func append(_ value: FieldValue) {
    switch value {
    case .integer(let number): append(number)
    case .real(let number): append(number)
    case .text(let text): UTF8Order.withBytes(of: text) { append(text: $0) }
    case .blob(let blob): blob.withUnsafeBytes { append(blob: $0) }
    case .null: appendNull()
    }
  }

  /// Appends a null.
  package mutating func appendNull() {
    extend(byAtMost: 1) { start in
      start.storeBytes(of: Tag.null, as: UInt8.self)
      return 1
    }
  }

  /// Appends an integer.
  package mutating func append(_ number: Int64) {
    if let byte = Int8(exactly: number) {
      append(byte, tag: Tag.byte)
    } else if let word = Int32(exactly: number) {
      append(word, tag: Tag.word)
    } else {
      append(number, tag: Tag.integer)
    }
  }

  /// Appends a real.
  package mutating func append(_ number: Double) {
    // SQLite stores a NaN as null.
    if number.isNaN { appendNull() } else { append(number, tag: Tag.real) }
  }

  /// Appends a text, which may be invalid UTF-8.
  package mutating func append(text: UnsafeRawBufferPointer) { append(text, tag: Tag.text) }

  /// Appends a blob.
  package mutating func append(blob: UnsafeRawBufferPointer) { append(blob, tag: Tag.blob) }

  @inline(__always)
  private mutating func append<Number: BitwiseCopyable>(_ number: Number, tag: UInt8) {
    extend(byAtMost: 1 + MemoryLayout<Number>.size) { start in
      start.storeBytes(of: tag, as: UInt8.self)
      (start + 1).storeBytes(of: number, as: Number.self)
      return 1 + MemoryLayout<Number>.size
    }
  }

  @inline(__always)
  private mutating func append(_ data: UnsafeRawBufferPointer, tag: UInt8) {
    extend(byAtMost: 1 + PackedCount.maxByteCount + data.count) { start in
      start.storeBytes(of: tag, as: UInt8.self)
      let head = 1 + PackedCount.write(data.count, to: start + 1)
      if let bytes = data.baseAddress {
        (start + head).copyMemory(from: bytes, byteCount: data.count)
      }
      return head + data.count
    }
  }

  /// Appends the bytes that `write` writes and counts, of which there are not more than `maxCount`.
  @inline(__always)
  private mutating func extend(byAtMost maxCount: Int, _ write: (UnsafeMutableRawPointer) -> Int) {
    if room.count - byteCount < maxCount { makeRoom(for: maxCount) }
    let count = byteCount
    byteCount += room.withUnsafeMutableBytes { write($0.baseAddress.unsafelyUnwrapped + count) }
  }

  @inline(never)
  private mutating func makeRoom(for count: Int) {
    room.append(contentsOf: repeatElement(0, count: max(count, room.count)))
  }
}

extension PackedRow {
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

    /// The next number that ``PackedCount`` wrote.
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

/// A number that is not negative as bytes, seven bits in each (LEB128).
enum PackedCount {
  /// The number of bytes that hold any number.
  static var maxByteCount: Int { 10 }

  /// Writes a number, and returns the number of its bytes.
  @inline(__always)
  static func write(_ count: Int, to start: UnsafeMutableRawPointer) -> Int {
    var rest = count
    var byteCount = 0
    while rest >= 0x80 {
      start.storeBytes(
        of: UInt8(truncatingIfNeeded: rest) | 0x80, toByteOffset: byteCount, as: UInt8.self)
      rest >>= 7
      byteCount += 1
    }
    start.storeBytes(of: UInt8(rest), toByteOffset: byteCount, as: UInt8.self)
    return byteCount + 1
  }
}
