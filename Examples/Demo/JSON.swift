import Tandem

/// JSON for the page, by Tandem's codec for records.
enum JSON {
  /// A value as an object with a field for each of its keys.
  static func object(_ value: some Encodable) throws -> [UInt8] {
    var bytes: [UInt8] = []
    RecordWriter.appendJSON(try Record(encoding: value), to: &bytes)
    return bytes
  }

  /// A record as an object.
  static func object(_ record: Record) -> [UInt8] {
    var bytes: [UInt8] = []
    RecordWriter.appendJSON(record, to: &bytes)
    return bytes
  }

  /// Values as an array of objects.
  static func list(_ values: some Sequence<some Encodable>) throws -> [UInt8] {
    var bytes: [UInt8] = []
    RecordWriter.appendJSON(try values.map { try Record(encoding: $0) }, to: &bytes)
    return bytes
  }

  /// Records as an array of objects.
  static func list(_ records: [Record]) -> [UInt8] {
    var bytes: [UInt8] = []
    RecordWriter.appendJSON(records, to: &bytes)
    return bytes
  }

  /// The difference of a set.
  static func difference(_ difference: SetDifference<Record>) -> [UInt8] {
    var bytes: [UInt8] = []
    RecordWriter.appendJSON(difference, to: &bytes)
    return bytes
  }

  /// The batches of a list difference. Offsets are as in `ListDifference.batches`.
  static func batches(_ difference: ListDifference<Record>) -> [UInt8] {
    func list<Item>(_ items: [Item], _ form: (Item) -> String) -> String {
      "[" + items.map(form).joined(separator: ",") + "]"
    }
    func text(_ record: Record) -> String { String(decoding: object(record), as: UTF8.self) }
    let json = list(difference.batches) { batch in
      """
      {"deletions":\(list(batch.deletions) { "\($0.offset)" }),\
      "insertions":\(list(batch.insertions) { "[\($0.offset),\(text($0.element))]" }),\
      "moves":\(list(batch.moves) { "[\($0.from),\($0.to)]" }),\
      "updates":\(list(batch.updates) { "[\($0.oldOffset),\(text($0.new))]" })}
      """
    }
    return Array(json.utf8)
  }

  /// Reads an object.
  static func read<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) throws -> Value {
    let values = try RecordReader.read([Value].self, in: bytes, format: .ndjson)
    guard values.count == 1 else {
      throw DemoError("the request must have one JSON object as its body")
    }
    return values[0]
  }
}

/// An error for the person at the page or the terminal.
struct DemoError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
