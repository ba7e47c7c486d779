internal import TandemDifferences

/// A list of records in about as many bytes as its text has.
///
/// Records are packed as they are added, and made again each time that one is read: an array of records
/// takes about three times the memory. A NaN, which SQLite stores as null, is read as null.
public struct PackedRecords: Sendable {
  /// The layouts of the records, in the order of their first appearance.
  package private(set) var layouts: [RecordLayout] = []
  private var layoutIndexes: [ObjectIdentifier: Int] = [:]
  /// The kinds of the values of each field, layout by layout.
  private var kinds: [ValueKinds] = []
  /// The index of the kinds of each layout's first field.
  private var firstKinds: [Int] = []
  /// The index of each record's layout, and its values.
  private var storage = PackedStorage()
  private var places: [PackedStorage.Place] = []
  /// The values of the record that is being added.
  private var packed = PackedRow()
  /// The kinds of these values.
  private var packedKinds: [ValueKinds] = []

  /// An empty list.
  public init() {}

  /// A list of the given records, in their order.
  ///
  /// - Complexity: O(*n*) in the bytes of the records.
  public init(_ records: some Sequence<Record>) {
    for record in records { append(record) }
  }

  /// Adds a record at the end.
  ///
  /// - Complexity: O(*n*) in the bytes of the record.
  public mutating func append(_ record: Record) {
    beginRecord(likelyCount: record.values.count)
    for value in record.values { append(value) }
    endRecord(record.layout)
  }

  /// Adds all records of another list at the end, in their order.
  ///
  /// - Complexity: O(*n*) in the bytes of the other list; O(1) if this one is empty.
  public mutating func append(contentsOf other: PackedRecords) {
    if isEmpty {
      self = other
    } else {
      for record in other { append(record) }
    }
  }

  private mutating func index(of layout: RecordLayout) -> Int {
    if let last = layouts.last, last === layout { return layouts.count - 1 }
    let identity = ObjectIdentifier(layout)
    if let index = layoutIndexes[identity] { return index }
    layouts.append(layout)
    layoutIndexes[identity] = layouts.count - 1
    firstKinds.append(kinds.count)
    kinds.append(contentsOf: repeatElement([], count: layout.names.count))
    return layouts.count - 1
  }
}

extension PackedRecords: RecordBuilder {
  @inline(__always)
  mutating func beginRecord(likelyCount: Int) {
    packed.removeAll()
    packedKinds.removeAll(keepingCapacity: true)
  }

  @inline(__always)
  mutating func append(_ value: FieldValue) {
    packed.append(value)
    packedKinds.append(value.kind)
  }

  @inline(__always)
  mutating func append(text: UnsafeRawBufferPointer) {
    packed.append(text: text)
    packedKinds.append(.text)
  }

  @inline(__always)
  mutating func endRecord(_ layout: RecordLayout) {
    precondition(packedKinds.count == layout.names.count, "A layout has a name for each value")
    let index = index(of: layout)
    let firstKind = firstKinds[index]
    for offset in packedKinds.indices { kinds[firstKind + offset].formUnion(packedKinds[offset]) }
    places.append(storage.append(packed, behind: index))
  }
}

extension PackedRecords: RandomAccessCollection {
  /// Always 0.
  public var startIndex: Int { 0 }
  /// The number of records.
  public var endIndex: Int { places.count }

  /// The record at a position.
  ///
  /// - Complexity: O(*n*) in the bytes of the record.
  public subscript(position: Int) -> Record {
    let row = row(at: position)
    return Record(uncheckedLayout: layouts[row.layoutIndex], values: row.values)
  }
}

extension PackedRecords {
  /// The values of the record at a position, and the index of their layout in ``layouts``.
  package func row(at position: Int) -> (layoutIndex: Int, values: [FieldValue]) {
    storage.withBytes(at: places[position]) { start in
      var reader = PackedRow.Reader(start)
      let index = reader.nextCount()
      let count = layouts[index].names.count
      let values = [FieldValue](unsafeUninitializedCapacity: count) { buffer, initializedCount in
        while initializedCount < count {
          (buffer.baseAddress.unsafelyUnwrapped + initializedCount).initialize(to: reader.next())
          initializedCount += 1
        }
      }
      return (index, values)
    }
  }

  /// The kinds of the values that the records of a layout have in one field.
  ///
  /// - Complexity: O(1).
  package func kinds(at offset: Int, ofLayout index: Int) -> ValueKinds {
    kinds[firstKinds[index] + offset]
  }

  /// True if the values of the record at a position are packed as these bytes.
  package func hasValues(_ row: PackedRow, at position: Int) -> Bool {
    storage.hasRow(row, at: places[position]) { start in
      var reader = PackedRow.Reader(start)
      _ = reader.nextCount()
      return reader.byteCount
    }
  }

  /// The index of the layout of the record at a position.
  package func layoutIndex(at position: Int) -> Int {
    storage.withBytes(at: places[position]) { start in
      var reader = PackedRow.Reader(start)
      return reader.nextCount()
    }
  }

  /// One value of the record at a position, by its index in the layout.
  package func value(at offset: Int, ofRecordAt position: Int) -> FieldValue {
    storage.withBytes(at: places[position]) { start in
      var reader = PackedRow.Reader(start)
      precondition(
        layouts[reader.nextCount()].names.indices.contains(offset), "A record has this value")
      reader.skip(offset)
      return reader.next()
    }
  }
}

extension PackedRecords: Equatable {
  /// Returns true if two lists have equal records in the same order.
  ///
  /// - Complexity: O(*n*) in the bytes of both.
  public static func == (first: PackedRecords, second: PackedRecords) -> Bool {
    first.elementsEqual(second)
  }
}

extension PackedRecords: ExpressibleByArrayLiteral {
  /// A list of the given records.
  public init(arrayLiteral elements: Record...) { self.init(elements) }
}

extension PackedRecords: CustomStringConvertible {
  /// The first records in their order, as in `[{id: 1, name: "Ann"}, … 4 more]`.
  public var description: String { DescriptionLimit.list(self) { "\($0)" } }
}
