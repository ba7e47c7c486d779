/// A list that takes records value by value, in the order in which a text has them.
protocol RecordBuilder {
  /// Begins a record. The values of one that was not ended are forgotten.
  ///
  /// - Parameter likelyCount: The number of values that the record probably has.
  mutating func beginRecord(likelyCount: Int)
  /// Adds a value to the record.
  mutating func append(_ value: FieldValue)
  /// Adds a text in valid UTF-8 to the record.
  mutating func append(text: UnsafeRawBufferPointer)
  /// Adds the record to the list. The layout has a name for each value.
  mutating func endRecord(_ layout: RecordLayout)
}

/// Records in an array, built value by value.
struct RecordArray: RecordBuilder {
  /// The records that were ended.
  private(set) var records: [Record] = []
  private var values: [FieldValue] = []

  /// An empty list.
  init() {}

  @inline(__always)
  mutating func beginRecord(likelyCount: Int) {
    values = []
    values.reserveCapacity(likelyCount)
  }

  @inline(__always)
  mutating func append(_ value: FieldValue) { values.append(value) }

  @inline(__always)
  mutating func append(text: UnsafeRawBufferPointer) {
    values.append(.text(String(decoding: text, as: UTF8.self)))
  }

  @inline(__always)
  mutating func endRecord(_ layout: RecordLayout) {
    records.append(Record(uncheckedLayout: layout, values: values))
    values = []
  }
}
