import TandemRecords
import TestRandom
import Testing

@Suite("Lists that arrive in parts")
struct RecordStreamTests {
  static let arrays = [
    "", " ", "[]", " [ ] \n", "\u{FEFF}[]", "\u{FEFF}", "[{}]", " [ {} , {} ]\r\n",
    "[{\"a\":12,\"b\":-1.5e3},{\"a\":3,\"b\":0},{\"b\":1}]", JSONReaderTests.sample,
    "\u{FEFF}[\n  {\"\\u00e9\\n\": \"x\\\\\", \"é\": \"€😀\"},\n  {\"é\": [1, {\"a\": \"]}\"}]}\n]\n",
    "[{\"a\":[]},{\"a\":{}},{\"a\":1},{\"a\":[ 2 , 3 ]}]",
    "[{\"a\":true},{\"a\":false},{\"a\":null}]",
    // These are errors.
    "[", "[{}", "[{},", "[{}]x", "[{}]\n\n []", "[{}\n,]", "[{} {}]", "{\"a\":1}", " 1", "tru",
    "[1]",
    "[{},\n [{}]]", "[\"a\"]", "[{},true]", "[,]", "[x]", "[{a:1}]", "[{\"a\" 1}]", "[{\"a\":}]",
    "[{\"a\":1,}]", "[{\"a\":1]", "[{\"a\":01}]", "[{\"a\":-}]", "[{\"a\":1.}]", "[{\"a\":1e+}]",
    "[{\"a\":trUe}]", "[{\"a\":\"\n\"}]", "[{\"a\":\"\\x\"}]", "[{\"a\":\"\\u12G4\"}]",
    "[{\"a\":[1,]}]", "[{\"a\":{\"b\"}}]", "[{\"a\":[[[[0]]]]}]",
    "[{},\n{\"a\":1,\"b\":2,\"a\":3}]",
    "[{\"a\":\"x\\ud800\"}]", "[{\"a\":\"\\ud800\\u0041\"}]", "[{}\n\u{FEFF}]",
    "\u{FEFF}\u{FEFF}[]",
  ]

  static let lines = [
    "", "\n \r\n", "\u{FEFF}", "{}", "{}\n", "{\"a\":1}\r\n{\"a\":2}",
    "\u{FEFF}{\"a\":1}\n\n \t\n{ \"a\" : 2 } \n",
    "{\"id\":1,\"é\":\"\\u00e9€😀\"}\n{\"id\":-2.5,\"é\":[{}, 1]}\n{\"id\":true,\"é\":\"\\n\"}",
    "{\"a\":1}                       \n{\"a\":2}                       ",
    // These are errors.
    "{\"a\":1}\n{\"a\":", "{}\n{\"a\":\n1}", "{} {}", "{}\n\n[1]", "{},\n{}", "{}\n5\n", "[{}]",
    "{}\n\u{FEFF}{}",
    "{}\n{\"a\":1,\"a\":2}", "{\"a\":1}                       x", "{\"a\":12\n", "{\"a\":tru\n}\n",
    "{\"a\":\"\\ud83d\n", "{\"a\":1\n2}", "{\"a\":[[[[0]]]]}\n",
  ]

  static let texts =
    arrays.map { ListedText(bytes: Array($0.utf8), format: .json) }
    + lines.map { ListedText(bytes: Array($0.utf8), format: .ndjson) }

  static let limits = [
    RecordLimits(), RecordLimits(maxRecordByteCount: 20, maxNestingDepth: 3),
    RecordLimits(maxRecordByteCount: 7), RecordLimits(maxRecordByteCount: 0),
  ]

  @Test("the records and the error are the same for every cut", arguments: texts)
  func everyCut(text: ListedText) throws {
    for limits in Self.limits {
      let whole = try text.readWhole(limits)
      for cut in 0...text.bytes.count {
        try whole.expectSame(as: text.read([cut, text.bytes.count - cut], limits), "cut \(cut)")
      }
    }
  }

  @Test("the records and the error are the same for chunks of every size", arguments: texts)
  func everySize(text: ListedText) throws {
    for limits in Self.limits {
      let whole = try text.readWhole(limits)
      for size in [1, 2, 3, 4, 5, 7, 11, 16, 31] {
        var counts = Array(repeating: size, count: text.bytes.count / size)
        counts.append(text.bytes.count % size)
        try whole.expectSame(as: text.read(counts, limits), "chunks of \(size)")
        counts = counts.flatMap { [0, $0, 0] }
        try whole.expectSame(as: text.read(counts, limits), "chunks of \(size), and empty ones")
      }
    }
  }

  @Test(
    "the records and the error are the same for every cut of a text that ends early or is not UTF-8"
  )
  func changedTexts() throws {
    let samples = [
      ListedText(bytes: Array(JSONReaderTests.sample.utf8), format: .json),
      ListedText(bytes: Array(Self.lines[6].utf8), format: .ndjson),
      ListedText(bytes: Array(Self.lines[7].utf8), format: .ndjson),
    ]
    for sample in samples {
      for end in 0...sample.bytes.count {
        for tail: [UInt8] in [
          [], [0xFF], [0xC3], [0xE2, 0x82], [0xC3, 0x0A, 0x20], [0xF0, 0x9F, 0x98],
        ] {
          var text = sample
          text.bytes = sample.bytes[..<end] + tail
          let whole = try text.readWhole()
          for size in [1, 3, max(1, end), end + 1] {
            var counts = Array(repeating: size, count: text.bytes.count / size)
            counts.append(text.bytes.count % size)
            try whole.expectSame(as: text.read(counts), "\(end) bytes and \(tail) by \(size)")
          }
        }
      }
    }
  }

  @Test("the records and the error are the same for random changes and cuts", arguments: 0..<200)
  func randomCuts(seed: Int) throws {
    var random = SplitMix64(seed: seed)
    var text = Self.texts.randomElement(using: &random)!
    let meaningful = Array("\"\\{}[],:0-e.un \n\r\t".utf8) + [0x00, 0x80, 0xC3, 0xE2, 0xF0, 0xFF]
    for _ in 0..<20 {
      if !text.bytes.isEmpty, Bool.random(using: &random) {
        text.bytes[.random(in: text.bytes.indices, using: &random)] =
          meaningful.randomElement(using: &random)!
      }
      let limits = Self.limits.randomElement(using: &random)!
      var counts: [Int] = []
      var rest = text.bytes.count
      while rest > 0 {
        counts.append(.random(in: 0...min(rest, 20), using: &random))
        rest -= counts.last!
      }
      let whole = try text.readWhole(limits)
      try whole.expectSame(as: text.read(counts, limits), "seed \(seed), chunks of \(counts)")
    }
  }

  @Test("random lists in random parts are what they were made of", arguments: 0..<100)
  func randomLists(seed: Int) throws {
    var random = SplitMix64(seed: seed)
    let shapes = [["a"], ["a", "é\n"], ["é\n", "a"], ["long name", "a", "b"], []]
    let list = (0..<Int.random(in: 0...30, using: &random)).map { _ in
      let values: [FieldValue] = [
        .null, .integer(.random(in: .min ... .max, using: &random)), 0.5, -1e300, "", "é€😀\n\"\\",
        .text(String(repeating: "x", count: .random(in: 0...100, using: &random))),
      ]
      return Record(
        shapes.randomElement(using: &random)!.map {
          (name: $0, value: values.randomElement(using: &random)!)
        })!
    }
    for format in [RecordFormat.json, .ndjson] {
      let text = ListedText(bytes: listText(list, format), format: format)
      let outcome = text.read(
        (0..<text.bytes.count).map { _ in .random(in: 0...40, using: &random) })
      #expect(outcome.error == nil, "seed \(seed)")
      #expect(outcome.records.map(exactFields) == list.map(exactFields), "seed \(seed)")
      let layouts = Set(outcome.records.map { ObjectIdentifier($0.layout) })
      #expect(layouts.count == Set(list.map(\.layout.names)).count, "seed \(seed)")
    }
  }
}

/// A text of a list.
struct ListedText: Sendable, CustomTestStringConvertible {
  var bytes: [UInt8]
  let format: RecordFormat

  var testDescription: String {
    String(decoding: bytes.prefix(100), as: UTF8.self).debugDescription
  }

  /// The outcome of reading the text in chunks of these lengths, and its rest as another one.
  func read(_ byteCounts: [Int], _ limits: RecordLimits = RecordLimits()) -> ListOutcome {
    var outcome = ListOutcome()
    var stream = RecordStream(format: format, limits: limits)
    var rest = bytes[...]
    do throws(RecordError) {
      for count in byteCounts + [bytes.count] {
        try stream.read(copying: Array(rest.prefix(count)), into: &outcome.records)
        rest = rest.dropFirst(count)
      }
      try stream.finish(into: &outcome.records)
    } catch {
      outcome.error = error
    }
    return outcome
  }

  /// The outcome of reading the text in one chunk, which is that of ``RecordReader``. The records of a
  /// valid list are also those that the reader of lists in objects finds.
  func readWhole(_ limits: RecordLimits = RecordLimits()) throws -> ListOutcome {
    let outcome = read([bytes.count], limits)
    let error = error(bytes, format, limits)
    try #require(outcome.error == error)
    guard error == nil else { return outcome }
    let records = try RecordReader.records(in: bytes, format: format, limits: limits)
    try ListOutcome(records: PackedRecords(records)).expectSame(as: outcome, "one chunk")
    let envelope = try RecordReader.envelope(in: enclosed, items: "items", limits: limits)
    try ListOutcome(records: envelope.records).expectSame(as: outcome, "in an object")
    return outcome
  }

  /// The list in a field of an object.
  private var enclosed: [UInt8] {
    let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
    let objects = text.split(separator: UInt8(ascii: "\n")).filter { line in
      !line.allSatisfy { " \t\r".utf8.contains($0) }
    }
    let list =
      format == .json
      ? Array(text) : Array("[".utf8) + objects.joined(separator: ",".utf8) + Array("]".utf8)
    return Array("{\"items\":".utf8) + list + Array("}".utf8)
  }
}

/// The records that were read before the end or an error.
struct ListOutcome {
  var records = PackedRecords()
  var error: RecordError?

  /// The kinds of all fields, layout by layout.
  private var kinds: [[ValueKinds]] {
    records.layouts.indices.map { index in
      records.layouts[index].names.indices.map { records.kinds(at: $0, ofLayout: index) }
    }
  }

  /// The index of each record's layout, in the order of their appearance.
  private var layoutIndexes: [Int] { records.indices.map { records.layoutIndex(at: $0) } }

  func expectSame(as other: ListOutcome, _ comment: String) throws {
    try #require(other.error == error, "\(comment)")
    try #require(other.records.map(exactFields) == records.map(exactFields), "\(comment)")
    try #require(
      zip(other.records, records).allSatisfy { $0.hasSameStorage(as: $1) }, "\(comment)")
    try #require(other.layoutIndexes == layoutIndexes, "\(comment)")
    try #require(other.kinds == kinds, "\(comment)")
  }
}

extension RecordStream {
  /// Reads a chunk from memory that is overwritten and freed afterwards.
  mutating func read(
    copying chunk: [UInt8], into records: inout PackedRecords
  ) throws(RecordError) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: chunk.count, alignment: 1)
    defer { copy.deallocate() }
    copy.copyBytes(from: chunk)
    defer { copy.initializeMemory(as: UInt8.self, repeating: 0xFF) }
    try read(UnsafeRawBufferPointer(copy), into: &records)
  }
}

/// The text of a list, with a line feed behind each line of NDJSON.
func listText(_ list: [Record], _ format: RecordFormat) -> [UInt8] {
  var bytes: [UInt8] = []
  if format == .json {
    RecordWriter.appendJSON(list, to: &bytes)
  } else {
    for record in list {
      RecordWriter.appendJSON(record, to: &bytes)
      bytes.append(UInt8(ascii: "\n"))
    }
  }
  return bytes
}
