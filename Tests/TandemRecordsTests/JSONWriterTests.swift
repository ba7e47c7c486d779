import TandemRecords
import TestRandom
import Testing

struct JSONWriterTests {
  @Test("commas stand between elements and fields, and nowhere else")
  func commas() {
    var json = JSONWriter()
    json.object { json in
      json.field("a", [1, 2] as [Int])
      json.field("b") { $0.array { _ in } }
      json.field("c") { $0.object { _ in } }
      json.field("d", nil as String?)
      json.field("e") { json in json.array(of: [true, false]) { $1.write($0) } }
      json.field("f\"", "g\n" as String)
    }
    let text = #"{"a":[1,2],"b":[],"c":{},"d":null,"e":[true,false],"f\"":"g\n"}"#
    #expect(String(decoding: json.bytes, as: UTF8.self) == text)
    var bytes = Array("x ".utf8)
    bytes.appendJSON { $0.write(1) }
    bytes.appendJSON { $0.write(2) }
    #expect(String(decoding: bytes, as: UTF8.self) == "x 12")
  }

  /// A value whose names are in the order of their bytes, as they are written.
  private func value(depth: Int, _ generator: inout SplitMix64) -> JSONValue {
    switch Int.random(in: 0..<(depth == 0 ? 4 : 6), using: &generator) {
    case 0: return .null
    case 1: return .bool(Bool.random(using: &generator))
    case 2:
      return .number(
        ["0", "-0", "1.50", "1e400", "123456789012345678901"].randomElement(using: &generator)
          ?? "0")
    case 3:
      return .string(
        ["", "a\"\\", "\u{0}\u{1F}\u{7F}", "é😀", "\t\n\r\u{8}\u{C}"].randomElement(
          using: &generator) ?? "")
    case 4:
      return .array(
        (0..<Int.random(in: 0..<4, using: &generator)).map { _ in
          value(depth: depth - 1, &generator)
        })
    default:
      var fields: [String: JSONValue] = [:]
      for _ in 0..<Int.random(in: 0..<4, using: &generator) {
        fields["n\(Int.random(in: 0..<9, using: &generator))"] = value(depth: depth - 1, &generator)
      }
      return .object(fields)
    }
  }

  @Test("a value that is written is read back, whatever it is", arguments: 0..<200)
  func roundTrip(seed: Int) throws {
    var generator = SplitMix64(seed: seed)
    let value = value(depth: 5, &generator)
    #expect(try JSONValue(parsing: value.description.utf8) == value, "seed \(seed)")
    #expect(value.textByteCount == value.description.utf8.count, "seed \(seed)")
  }

  @Test("any bytes are read or rejected with an offset in the text", arguments: 0..<500)
  func totality(seed: Int) {
    var generator = SplitMix64(seed: seed)
    var bytes = Array(value(depth: 4, &generator).description.utf8)
    for _ in 0..<Int.random(in: 1..<4, using: &generator) {
      let offset = Int.random(in: 0...bytes.count, using: &generator)
      let byte =
        [0x22, 0x2C, 0x5B, 0x5D, 0x7B, 0x7D, 0x5C, 0x80, 0x20].randomElement(using: &generator) ?? 0
      if Bool.random(using: &generator) || offset == bytes.count {
        bytes.insert(UInt8(byte), at: offset)
      } else {
        bytes[offset] = UInt8(byte)
      }
    }
    do throws(TextFault) {
      let value = try JSONValue(parsing: bytes)
      #expect((try? JSONValue(parsing: value.description.utf8)) == value, "seed \(seed)")
    } catch {
      #expect((0...bytes.count).contains(error.offset), "seed \(seed)")
    }
  }
}
