/// A slot for a value during encoding.
final class EncodingSlot {
  // Elements and fields are properties rather than payloads of an enumeration, to be added to in place.
  private var scalar = JSONValue.object([:])
  private var elements: [EncodingSlot]?
  private var fields: [String: EncodingSlot]?
  /// The number of further levels of arrays and objects that are allowed here.
  private let room: Int
  /// The forms of Foundation's types; `nil` where each type encodes itself.
  private let coding: RecordCoding?

  init(room: Int, coding: RecordCoding? = nil) {
    self.room = room
    self.coding = coding
  }

  /// The encoded value. It may nest too deep even if no single step did.
  func json() throws -> JSONValue {
    guard room >= 0 else { throw tooDeep(scalar, at: []) }
    if let elements { return .array(try elements.map { try $0.json() }) }
    if let fields { return .object(try fields.mapValues { try $0.json() }) }
    return scalar
  }

  func encode<Value: Encodable>(_ value: Value, at path: [any CodingKey]) throws {
    // Checked before encoding, because an infinite value would overflow the stack.
    guard room >= 0 else { throw tooDeep(value, at: path) }
    switch value {
    case let value as Bool: set(.bool(value))
    case let value as String: set(.string(value))
    case let value as any BinaryInteger: set(.number("\(value)"))
    case let value as Double: try encode(number: value, at: path)
    case let value as Float: try encode(number: value, at: path)
    default:
      guard let coding, let known = FoundationType(Value.self),
        let field = try FieldEncoder.knownFieldValue(of: value, coding)
      else { return try value.encode(to: SlotEncoder(slot: self, codingPath: path)) }
      set(known.json(of: field))
    }
  }

  private func encode<Number: BinaryFloatingPoint & LosslessStringConvertible>(
    number: Number, at path: [any CodingKey]
  ) throws {
    guard number.isFinite else {
      throw EncodingError.invalidValue(
        number, .init(codingPath: path, debugDescription: "JSON has no numbers that are not finite")
      )
    }
    set(.number("\(number)"))
  }

  private func tooDeep(_ value: Any, at path: [any CodingKey]) -> EncodingError {
    .invalidValue(value, .init(codingPath: path, debugDescription: "the value nests too deep"))
  }

  /// Stores a value without elements or fields.
  func set(_ value: JSONValue) {
    scalar = value
    (elements, fields) = (nil, nil)
  }

  // Slots below the depth limit are not stored: releasing a long chain would overflow the stack too.

  func element() -> EncodingSlot {
    let slot = EncodingSlot(room: room - 1, coding: coding)
    if room >= 0 { elements?.append(slot) }
    return slot
  }

  func field(_ name: String) -> EncodingSlot {
    let slot = EncodingSlot(room: room - 1, coding: coding)
    if room >= 0 { fields?[name] = slot }
    return slot
  }

  func beginObject() {
    if fields == nil { (elements, fields) = (nil, [:]) }
  }

  func beginArray() {
    if elements == nil { (elements, fields) = ([], nil) }
  }
}
