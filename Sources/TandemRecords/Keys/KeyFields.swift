/// Finds the values of key fields in records, looking their names up once per layout.
struct KeyFields {
  let names: [String]
  private var offsetsByLayout: [ObjectIdentifier: [Int?]] = [:]
  private var lastLayout: RecordLayout?
  private var lastOffsets: [Int?] = []

  init(_ names: [String]) {
    self.names = names
  }

  /// Where the fields are among a record's values; `nil` for a field that it has not.
  ///
  /// Layouts are told apart by identity, so `record` must outlive its use here.
  @inline(__always)
  mutating func offsets(in record: Record) -> [Int?] {
    if record.layout !== lastLayout { lookUp(record.layout) }
    return lastOffsets
  }

  @inline(never)
  private mutating func lookUp(_ layout: RecordLayout) {
    let identity = ObjectIdentifier(layout)
    let offsets = offsetsByLayout[identity] ?? names.map(layout.offset(of:))
    offsetsByLayout[identity] = offsets
    lastLayout = layout
    lastOffsets = offsets
  }
}
