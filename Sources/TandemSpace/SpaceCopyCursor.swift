internal import TandemRecords
internal import TandemSync

/// The last row of each kind that the pages before had.
struct SpaceCopyCursor: CustomStringConvertible {
  /// The state that the first page was read at, or follows.
  let anchor: SpaceRevision
  var history: Int
  var count: (version: Int, table: String)
  var overruled: (version: Int, row: Int)
  var record: (version: Int, table: String, key: [UInt8])
  var entry: Int

  /// Before the rows that were written after a version, or before all.
  init(anchor: SpaceRevision, since: Int?, entry: Int) {
    let version = since ?? -1
    self.anchor = anchor
    history = version
    // No table has an empty name, no record an empty key.
    count = (version + 1, "")
    overruled = (version + 1, 0)
    record = (version + 1, "", [])
    self.entry = entry
  }

  /// Reads the form of ``description``; `nil` for any other text.
  init?(_ text: String) {
    let digits = text.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
    guard digits.count == text.utf8.count, digits.count % 2 == 0,
      let values = try? SpaceCopyLines.values(
        stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }),
      values.count == 10, let anchor = values[0].textValue.flatMap({ SpaceRevision($0) }),
      let history = values[1].integerValue, let countVersion = values[2].integerValue,
      let countTable = values[3].textValue, let overruledVersion = values[4].integerValue,
      let overruledRow = values[5].integerValue, let recordVersion = values[6].integerValue,
      let recordTable = values[7].textValue, case .blob(let key) = values[8],
      let entry = values[9].integerValue
    else { return nil }
    self.anchor = anchor
    self.history = history
    count = (countVersion, countTable)
    overruled = (overruledVersion, overruledRow)
    record = (recordVersion, recordTable, key)
    self.entry = entry
  }

  var description: String {
    let values: [FieldValue] = [
      .text(anchor.description), .integer(Int64(history)), .integer(Int64(count.version)),
      .text(count.table), .integer(Int64(overruled.version)), .integer(Int64(overruled.row)),
      .integer(Int64(record.version)), .text(record.table), .blob(record.key),
      .integer(Int64(entry)),
    ]
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: SyncMessageWriter.bytes(id: values).flatMap {
        [digits[Int($0 >> 4)], digits[Int($0 & 0xF)]]
      }, as: UTF8.self)
  }
}

// MARK: - The order of places

extension SpaceCopyCursor {
  /// A place among the rows of one kind.
  private typealias Place = (version: Int, row: Int, table: [UInt8], key: [UInt8])

  private var places: [Place] {
    [
      (history, 0, [], []), (count.version, 0, Array(count.table.utf8), []),
      (overruled.version, overruled.row, [], []),
      (record.version, 0, Array(record.table.utf8), record.key), (entry, 0, [], []),
    ]
  }

  /// True if this place is after another one among the rows of some kind, and before it among those of none.
  func isBeyond(_ other: SpaceCopyCursor) -> Bool {
    let pairs = Array(zip(places, other.places))
    return pairs.contains { pair in Self.isBefore(pair.1, pair.0) }
      && !pairs.contains { pair in Self.isBefore(pair.0, pair.1) }
  }

  /// The order of the statements that read the rows: texts are compared by their bytes.
  private static func isBefore(_ one: Place, _ other: Place) -> Bool {
    if one.version != other.version { return one.version < other.version }
    if one.row != other.row { return one.row < other.row }
    if one.table != other.table { return one.table.lexicographicallyPrecedes(other.table) }
    return one.key.lexicographicallyPrecedes(other.key)
  }
}
