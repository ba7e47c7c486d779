import Foundation
import TandemDifferences
import TandemRecords
import TestRandom
import Testing

struct RecordWriterTests {
  @Test(
    "each value is written as this JSON",
    arguments: [
      (.null, "null"), (0, "0"), (-1, "-1"), (.integer(.max), "9223372036854775807"),
      (.integer(.min), "-9223372036854775808"), (1.0, "1.0"), (-0.0, "-0.0"), (1e16, "1e+16"),
      (.real(.leastNonzeroMagnitude), "5e-324"), (100000.0, "100000.0"),
      (.real(.infinity), "{\"real\":\"inf\"}"),
      (.real(-.infinity), "{\"real\":\"-inf\"}"), (.real(.nan), "{\"real\":\"nan\"}"),
      ("", "\"\""), ("é/\u{7F}😀", "\"é/\u{7F}😀\""), ("{\"a\":1}", "\"{\\\"a\\\":1}\""),
      (
        "\"\\\u{8}\u{C}\n\r\t\0\u{1}\u{F}\u{10}\u{1F}",
        "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u0001\\u000f\\u0010\\u001f\""
      ),
      (.blob([]), "{\"blob\":\"\"}"), (.blob([0xDE, 0xAD, 0xBE, 0xEF]), "{\"blob\":\"3q2+7w==\"}"),
    ] as [(FieldValue, String)])
  func values(value: FieldValue, text: String) {
    #expect(value.description == text)
  }

  @Test("the text of a record is that of its fields in order")
  func record() {
    var bytes: [UInt8] = []
    RecordWriter.appendJSON(["b": 1, "a\"": .null, "": "x"] as Record, to: &bytes)
    #expect(String(decoding: bytes, as: UTF8.self) == "{\"b\":1,\"a\\\"\":null,\"\":\"x\"}")
    bytes = []
    RecordWriter.appendJSON([[:], ["a": 1]], to: &bytes)
    #expect(String(decoding: bytes, as: UTF8.self) == "[{},{\"a\":1}]")
  }

  @Test("the text of a difference has its three lists")
  func difference() {
    var bytes: [UInt8] = []
    RecordWriter.appendJSON(SetDifference<Record>(), to: &bytes)
    #expect(
      String(decoding: bytes, as: UTF8.self) == "{\"inserted\":[],\"updated\":[],\"deleted\":[]}")
    bytes = []
    let difference = SetDifference<Record>(
      inserted: [["a": 1], ["a": 2]],
      updated: [.init(old: ["a": 3], new: ["a": 3.0]), .init(old: ["a": 4], new: [:])],
      deleted: [["a": 5]])
    RecordWriter.appendJSON(difference, to: &bytes)
    #expect(
      String(decoding: bytes, as: UTF8.self)
        == "{\"inserted\":[{\"a\":1},{\"a\":2}],\"updated\":[{\"old\":{\"a\":3},\"new\":{\"a\":3.0}},"
        + "{\"old\":{\"a\":4},\"new\":{}}],\"deleted\":[{\"a\":5}]}")
  }

  @Test("Base64 is that of Foundation for every small length")
  func base64() {
    var generator = SplitMix64(seed: 4)
    for count in 0..<100 {
      let blob = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
      let expected = Data(blob).base64EncodedString()
      #expect(FieldValue.blob(blob).description == "{\"blob\":\"\(expected)\"}")
    }
  }

  @Test("what has a word in JSON comes back from the reader as it was")
  func roundTrip() throws {
    let values = nastyValues.filter { value in
      switch value {
      case .null, .integer, .text: return true
      case .real(let number): return number.isFinite
      case .blob: return false
      }
    }
    let list: [Record] = values.map { ["a": $0, "e\u{301}\"\n": "\u{E9}", "\u{E9}": $0] }
    var bytes: [UInt8] = []
    RecordWriter.appendJSON(list, to: &bytes)
    let read = try RecordReader.records(in: bytes, format: .json)
    #expect(read.map(exactFields) == list.map(exactFields))
  }

  @Test("every escapable byte is found, wherever it stands in a text of any length")
  func positions() throws {
    let escapable: [UInt8] = [0, 0x1F, 0x22, 0x5C]
    let plain: [UInt8] = [0x20, 0x21, 0x23, 0x5B, 0x5D, 0x7F]
    for count in 1..<20 {
      for position in 0..<count {
        for byte in escapable + plain {
          var text = [UInt8](repeating: plain[count % plain.count], count: count)
          text[position] = byte
          if position + 1 < count { text[position + 1] = byte ^ 1 < 0x80 ? byte ^ 1 : 0x20 }
          let value = FieldValue.text(String(decoding: text, as: UTF8.self))
          let json = Array("[{\"a\":\(value)}]".utf8)
          #expect(try RecordReader.records(in: json, format: .json).first?["a"] == value)
          #expect(!value.description.utf8.contains { $0 < 0x20 })
        }
      }
    }
  }
}
