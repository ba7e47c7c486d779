internal import TandemRecords
internal import TandemSQLite

/// The rows of a result by key, packed: about half as much again as their bytes in the file.
///
/// Each row has a slot, whose number it keeps while it is in the result.
struct PackedRows: Sendable {
  /// The fields of the rows.
  private(set) var layout: RecordLayout
  private let keyOffsets: [Int]
  private var storage = PackedStorage()
  /// The place of the row of each slot, or ``PackedStorage/Place/none`` if the slot is free.
  private var places: [PackedStorage.Place] = []
  private var freeSlots: [Int] = []
  private var index = SlotIndex()

  init(_ layout: RecordLayout, keyOffsets: [Int]) {
    self.layout = layout
    self.keyOffsets = keyOffsets
  }

  /// Takes the layout of a new plan for the same rows; `false` if it has other fields or another key.
  mutating func adopt(_ layout: RecordLayout, keyOffsets: [Int]) -> Bool {
    guard self.layout.hasSameOrder(as: layout), self.keyOffsets == keyOffsets else { return false }
    self.layout = layout
    return true
  }

  var columns: ResultColumns { ResultColumns(layout: layout, keyOffsets: keyOffsets) }

  /// The number of rows.
  var count: Int { places.count - freeSlots.count }
  /// The number of bytes of all rows, and of those that are no longer needed.
  var byteCount: Int { storage.byteCount }
  /// The number of slots, some of which may be free.
  var slotCount: Int { places.count }

  func isFree(_ slot: Int) -> Bool { places[slot] == PackedStorage.Place.none }

  /// The slot of the row of a key.
  func slot(of key: RecordKey) -> Int? {
    index.slot(hash: key.hashValue) { self.key(at: $0) == key }
  }

  /// True if a slot has a row with these bytes.
  func hasRow(_ packed: PackedRow, at slot: Int) -> Bool {
    !isFree(slot) && storage.hasRow(packed, at: places[slot])
  }

  /// The row of a slot.
  func record(at slot: Int) -> Record {
    withReader(at: slot) { reader in
      var values: [FieldValue] = []
      values.reserveCapacity(layout.names.count)
      for _ in layout.names { values.append(reader.next()) }
      return Record(uncheckedLayout: layout, values: values)
    }
  }

  /// The key of the row of a slot.
  func key(at slot: Int) -> RecordKey {
    if keyOffsets.count == 1 { return RecordKey(value(at: slot, keyOffsets[0])) }
    return RecordKey(keyOffsets.map { value(at: slot, $0) })
  }

  private func value(at slot: Int, _ offset: Int) -> FieldValue {
    withReader(at: slot) { reader in
      reader.skip(offset)
      return reader.next()
    }
  }

  private func withReader<Value>(
    at slot: Int, _ body: (inout PackedRow.Reader) -> Value
  ) -> Value {
    precondition(!isFree(slot), "A free slot has no row")
    return storage.withBytes(at: places[slot]) { start in
      var reader = PackedRow.Reader(start)
      return body(&reader)
    }
  }

  /// The row of a slot, with its key.
  func row(at slot: Int) -> KeyedRow {
    let record = record(at: slot)
    return KeyedRow(key: columns.key(of: record), record: record)
  }

  /// All rows.
  func records() -> [Record] { places.indices.filter { !isFree($0) }.map(record) }
}

// MARK: - Changing

extension PackedRows {
  /// Adds the row of a new key, and returns its slot.
  mutating func insert(_ packed: PackedRow, _ key: RecordKey) -> Int {
    let place = storage.append(packed)
    let slot = freeSlots.popLast() ?? places.count
    if slot == places.count { places.append(place) } else { places[slot] = place }
    index.insert(slot, hash: key.hashValue)
    return slot
  }

  /// Adds a row of a new key, and returns its slot.
  mutating func insert(_ row: KeyedRow) -> UInt32 {
    UInt32(insert(PackedRow(row.record.values), row.key))
  }

  /// Gives back the memory that was reserved for more rows.
  mutating func shrink() { places.shrink() }

  /// Replaces a row by another one of the same key.
  mutating func replace(at slot: Int, by packed: PackedRow) {
    let count = byteCount(at: slot)
    if count == packed.byteCount {
      storage.write(packed, at: places[slot])
    } else {
      storage.discard(count)
      places[slot] = storage.append(packed)
      compact()
    }
  }

  /// Removes a row.
  mutating func remove(at slot: Int) {
    index.remove(slot, hash: key(at: slot).hashValue)
    storage.discard(byteCount(at: slot))
    places[slot] = .none
    freeSlots.append(slot)
    compact()
  }

  private func byteCount(at slot: Int) -> Int {
    withReader(at: slot) { reader in
      reader.skip(layout.names.count)
      return reader.byteCount
    }
  }

  /// Copies all rows if most bytes are no longer those of a row.
  private mutating func compact() {
    guard storage.isMostlyDiscarded else { return }
    var compacted = PackedStorage()
    for slot in places.indices where !isFree(slot) {
      let count = byteCount(at: slot)
      places[slot] = storage.withBytes(at: places[slot]) {
        compacted.append(UnsafeRawBufferPointer(start: $0, count: count))
      }
    }
    storage = compacted
  }
}
