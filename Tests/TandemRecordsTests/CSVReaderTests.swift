import TandemRecords
import Testing

struct CSVReaderTests {
  @Test(
    "each CSV text is read as these records",
    arguments: [
      ("a,b", []), ("a,b\n", []), ("a,b\r\n1,x\r\n", [["a: 1", "b: \"x\""]]),
      ("a,b\n1,x\n2,y", [["a: 1", "b: \"x\""], ["a: 2", "b: \"y\""]]),
      ("\u{FEFF}a\n1", [["a: 1"]]), ("\"a\",\"b,\"\"c\"\n1,2", [["a: 1", "b,\"c: 2"]]),
      ("a,b\n,\"\"", [["a: null", "b: \"\""]]), ("a,b\n1,\n", [["a: 1", "b: null"]]),
      ("a\n\n1\n", [["a: null"], ["a: 1"]]), ("a\n\"\"", [["a: \"\""]]),
      ("a,b\n\"x\r\ny\",\"\"\"\"\n", [["a: \"x\\r\\ny\"", "b: \"\\\"\""]]),
      ("a\n\"x\"\"\"\"y\"\n", [["a: \"x\\\"\\\"y\""]]), ("a\n\"\"\"x\"\n", [["a: \"\\\"x\""]]),
      ("\n\r\na,b\n\n1,2\r\n\r\n", [["a: 1", "b: 2"]]),
      (",a,\n1,2,3", [["column_1: 1", "a: 2", "column_3: 3"]]),
      (" a ,é\n x , y\n", [[" a : \" x \"", "é: \" y\""]]), ("a\n\0\n", [["a: \"\\u0000\""]]),
    ] as [(String, [[ExactText]])])
  func texts(text: String, fields: [[ExactText]]) throws {
    #expect(try records(text, .csv).map(exactFields) == fields)
  }

  @Test(
    "the type of a column follows from all of its values",
    arguments: [
      (["1", "-2", "0"], ["1", "-2", "0"]),
      (["1", "", "3"], ["1", "null", "3"]),
      (["", ""], ["null", "null"]),
      (
        ["9223372036854775807", "-9223372036854775808"],
        ["9223372036854775807", "-9223372036854775808"]
      ),
      (["9223372036854775808", "1"], ["\"9223372036854775808\"", "\"1\""]),
      (["1", "2.5"], ["1.0", "2.5"]),
      (["1.50", "1.0e3", "-0.25E-2"], ["1.5", "1000.0", "-0.0025"]),
      (["-0", "1"], ["-0.0", "1.0"]), (["-0.0"], ["-0.0"]), (["0.0e0"], ["0.0"]),
      (["007", "1"], ["\"007\"", "\"1\""]), (["00"], ["\"00\""]), (["01.5"], ["\"01.5\""]),
      (["+1"], ["\"+1\""]), (["1", " 2"], ["\"1\"", "\" 2\""]), (["1 "], ["\"1 \""]),
      (["1."], ["\"1.\""]), ([".5"], ["\".5\""]), (["1e"], ["\"1e\""]), (["-"], ["\"-\""]),
      (["0x1"], ["\"0x1\""]), (["NaN"], ["\"NaN\""]), (["inf", "1"], ["\"inf\"", "\"1\""]),
      (["\"1\"", "2"], ["\"1\"", "\"2\""]), (["\"\"", "2"], ["\"\"", "\"2\""]),
      (["123456789012345.0"], ["123456789012345.0"]),
      (
        ["12345678901234.5", "0.000123456789012345"], ["12345678901234.5", "0.000123456789012345"]
      ),
      (["1234567890123456", "1"], ["1234567890123456", "1"]),
      (["1234567890123456", "1.5"], ["1234567890123456.0", "1.5"]),
      (["9007199254740993", "1.5"], ["\"9007199254740993\"", "\"1.5\""]),
      (["1e+308", "1e-307"], ["1e+308", "1e-307"]), (["1e+309"], ["\"1e+309\""]),
      (["1e-310"], ["1e-310"]), (["1e-999"], ["\"1e-999\""]),
      // As Python, JavaScript and R print doubles: no digit is lost.
      (
        ["108.83371499999998", "0.30000000000000004", "-1.7976931348623157e+308"],
        ["108.83371499999998", "0.30000000000000004", "-1.7976931348623157e+308"]
      ),
      (["1e-05", "1e+16", "5e-324"], ["1e-05", "1e+16", "5e-324"]),
      (["1e-7", "1.5e-10", "1e+21"], ["1e-07", "1.5e-10", "1e+21"]),
      (["1e+05", "12", "0.5"], ["100000.0", "12.0", "0.5"]),
      (["1.0E-5", "2.5E10"], ["1e-05", "25000000000.0"]),
      // As C prints doubles with 17 digits.
      (["0.10000000000000001", "0.29999999999999999"], ["0.1", "0.3"]),
      // Digits would be lost.
      (["0.12345678901234567", "1.5"], ["\"0.12345678901234567\"", "\"1.5\""]),
      (["1.00000000000000001"], ["\"1.00000000000000001\""]),
      // Codes and numbers of telephones are no numbers.
      (["1e5", "2e7"], ["\"1e5\"", "\"2e7\""]), (["12", "3E-12"], ["\"12\"", "\"3E-12\""]),
      (["01234", "98765"], ["\"01234\"", "\"98765\""]), (["+49", "49"], ["\"+49\"", "\"49\""]),
      (["1_000"], ["\"1_000\""]), (["0x10"], ["\"0x10\""]),
      (["12345678901234567890", "0.5"], ["\"12345678901234567890\"", "\"0.5\""]),
      (["12345678901234567000", "0.5"], ["\"12345678901234567000\"", "\"0.5\""]),
      (["true", "false"], ["\"true\"", "\"false\""]),
    ] as [([String], [String])])
  func columns(cells: [String], values: [String]) throws {
    let text = "k,v\n" + cells.enumerated().map { "\($0),\($1)\n" }.joined()
    let list = try records(text, .csv)
    #expect(list.map { $0["v"].description } == values)
    #expect(list.map { $0["k"].description } == cells.indices.map(String.init))
  }

  @Test(
    "quotes around all cells say nothing about their types, and quotes around some say that they are texts",
    arguments: [
      ("a,b\n\"1\",\"x\"\n\"2\",\"\"\n", ["1 \"x\"", "2 \"\""]),
      ("\"a\",\"b\"\r\n\"1\",\"1.5\"\r\n\"\",\"2.25\"\r\n", ["1 1.5", "null 2.25"]),
      ("a,b\n\"1\",\n\"2\",\"007\"\n", ["1 null", "2 \"007\""]),
      ("a,b\n\"\",\"1\"\n\"\",\"2\"\n", ["\"\" 1", "\"\" 2"]),
      ("a,b\n1,\"2\"\n", ["1 \"2\""]),
      ("a,b\n\"1\",\"2\"\n\"3\",4\n", ["\"1\" \"2\"", "\"3\" \"4\""]),
      ("a,b\n\"1\"\"\",\"2\"\n", ["\"1\\\"\" 2"]),
    ])
  func quotedLists(text: String, rows: [String]) throws {
    let list = try records(text, .csv)
    #expect(list.map { $0.values.map(\.description).joined(separator: " ") } == rows)
  }

  @Test(
    "what is no CSV is refused, with its place",
    arguments: [
      ("", "malformed", nil, 1, 1), ("\u{FEFF}", "malformed", nil, 1, 1),
      ("\n\n", "malformed", nil, 3, 1), (",,\n1,2,3", "malformed", nil, 1, 1),
      ("column_2,\n", "duplicateField", nil, 1, 10), ("a;b\n1;2\n", "malformed", nil, 1, 1),
      ("a,b,a\n", "duplicateField", nil, 1, 5), ("a,\"a\"", "duplicateField", nil, 1, 3),
      ("a,b\n1\n", "malformed", 1, 2, 2),
      ("a,b\n1,2\n1,2,3\n", "malformed", 2, 3, 5), ("a\n1,\n", "malformed", 1, 2, 3),
      ("a,b\n1,2\n1", "malformed", 2, 3, 2), ("a\n\"x", "malformed", 1, 2, 3),
      ("a\n\"x\ny", "malformed", 1, 3, 2), ("a\n\"x\"\"", "malformed", 1, 2, 5),
      ("a\n\"", "malformed", 1, 2, 2), ("a\"b\n", "malformed", nil, 1, 2),
      ("a,b\n1,x\"y\"\n", "malformed", 1, 2, 4), ("a\n\"x\"y\n", "malformed", 1, 2, 4),
      ("a\n\"x\" \n", "malformed", 1, 2, 4), ("a\nx\ry\n", "malformed", 1, 2, 2),
      ("a\n\"x\"\ry\n", "malformed", 1, 2, 4), ("a\nx\r", "malformed", 1, 2, 3),
      ("a\r", "malformed", nil, 1, 3),
    ] as [(String, String, Int?, Int, Int)])
  func refusals(text: String, code: String, record: Int?, line: Int, column: Int) throws {
    let found = try #require(error(Array(text.utf8), .csv))
    #expect(found.code.name == code, "\(found)")
    #expect(found.record == record, "\(found)")
    #expect([found.line, found.column] == [line, column], "\(found)")
  }

  @Test("an error names the field, and says that a text ends too early")
  func messages() {
    let messages = ["a,b\n1,x\"", "a,b\n1,\"x", "a,b\n1\n", "a,b\n1,2,3"].map {
      error(Array($0.utf8), .csv)?.description
    }
    #expect(
      messages == [
        "record 1 (line 2, column 4): a quote stands inside a field without quotes (`quotes` lenient "
          + "reads it), in field \"b\"",
        "record 1 (line 2, column 5): the text ends too early, inside a quoted field, "
          + "in field \"b\"",
        "record 1 (line 2, column 2): the row has fewer fields than the header: 1 instead of 2",
        "record 1 (line 2, column 5): the row has more fields than the header, which has 2",
      ])
  }

  @Test(
    "bytes that are not UTF-8 are an error where they stand",
    arguments: [
      ("a,b\n1,2\n", 2, 3, 1), ("a,b\n1,2\n3", 2, 3, 2), ("a,b\n1,2\n3,4", 2, 3, 4),
      ("a,b\n1,\"2\n", 1, 3, 1), ("a\n\"x\"", 1, 2, 4), ("a,b\n", 1, 2, 1),
    ])
  func invalidUTF8(start: String, record: Int, line: Int, column: Int) throws {
    for bytes in [[0xFF, 0x0A], [0xC3, 0x28, 0x0A]] as [[UInt8]] {
      let found = try #require(error(Array(start.utf8) + bytes, .csv))
      #expect(found.message.hasPrefix("these bytes are not UTF-8"))
      #expect([found.record, found.line, found.column] == [record, line, column], "\(found)")
    }
    let cut = try #require(error(Array(start.utf8) + [0xE2, 0x82], .csv))
    #expect(cut.message.hasPrefix("the text ends too early, inside a character"))
  }

  private static let sample = """
    id,"näme",x\r
    12,"Zürich, ""€"" 😀",-1.25e3\r
    13,,\r
    14,"two
    lines",0.5
    """

  @Test("a start of a text is refused, or its whole rows are as they were")
  func truncations() throws {
    let bytes = Array(CSVReaderTests.sample.utf8)
    let whole = try RecordReader.records(in: bytes, format: .csv).map(\.values.first)
    #expect(whole == [12, 13, 14])
    for count in 1..<bytes.count {
      let start = Array(bytes[..<count])
      if error(start, .csv) == nil {
        let list = try RecordReader.records(in: start, format: .csv)
        #expect(list.dropLast().map(\.values.first) == Array(whole.prefix(max(list.count - 1, 0))))
      }
    }
  }

  @Test("every change of one byte is read or refused, and what is refused has its place")
  func mutations() throws {
    try expectNoTraps(CSVReaderTests.sample, .csv)
  }

  @Test("every small text is split as a naive reader splits it")
  func oracle() throws {
    let alphabet = Array("a\",\n".utf8)
    var texts: [[UInt8]] = [[]]
    for _ in 0..<7 {
      texts = texts.flatMap { text in alphabet.map { text + [$0] } }
      for text in texts {
        let parsed = NaiveCSV.rows(String(decoding: text, as: UTF8.self))
        // An empty line is no row.
        let isEmpty: ([FieldValue]) -> Bool = { $0.count == 1 && $0[0].isNull }
        let rows = parsed?.filter { !isEmpty($0) }
        let isTable = rows?.allSatisfy { $0.count == 2 } ?? false
        let bytes = Array("h,i\n".utf8) + text
        #expect((error(bytes, .csv) == nil) == isTable, "\(String(decoding: text, as: UTF8.self))")
        if isTable, let rows {
          let list = try RecordReader.records(in: bytes, format: .csv)
          #expect(list.map(\.values) == rows, "\(String(decoding: text, as: UTF8.self))")
        }
      }
    }
  }

  @Test("the length of a row and the number of its fields are limited")
  func limits() throws {
    let limits = RecordLimits(maxRecordByteCount: 4)
    #expect(try records("a,b\n12,3\n", .csv, limits).count == 1)
    let found = try #require(error(Array("a,b\n1,2\n12,34\n".utf8), .csv, limits))
    #expect([found.record, found.line, found.column] == [2, 3, 1])
    #expect(found.code == .limitExceeded)
    let names = (0...RecordLayout.maxFieldCount).map { "f\($0)" }
    #expect(error(Array(names.joined(separator: ",").utf8), .csv)?.code == .limitExceeded)
    #expect(try records(names.dropLast().joined(separator: ","), .csv).isEmpty)
  }
}

/// RFC 4180 with a character at a time, for texts without carriage returns and numbers.
private enum NaiveCSV {
  static func rows(_ text: String) -> [[FieldValue]]? {
    var rows: [[FieldValue]] = []
    var rest = Substring(text)
    while !rest.isEmpty {
      var row: [FieldValue] = []
      repeat {
        guard let field = field(&rest) else { return nil }
        row.append(field)
      } while take(",", &rest)
      guard rest.isEmpty || take("\n", &rest) else { return nil }
      rows.append(row)
    }
    return rows
  }

  private static func field(_ rest: inout Substring) -> FieldValue? {
    guard take("\"", &rest) else {
      let field = rest.prefix { !",\n".contains($0) }
      rest.removeFirst(field.count)
      return field.contains("\"") ? nil : field.isEmpty ? .null : .text(String(field))
    }
    var contents = ""
    while let next = rest.popFirst() {
      if next != "\"" {
        contents.append(next)
      } else if take("\"", &rest) {
        contents.append("\"")
      } else {
        return .text(contents)
      }
    }
    return nil
  }

  private static func take(_ character: Character, _ rest: inout Substring) -> Bool {
    guard rest.first == character else { return false }
    rest.removeFirst()
    return true
  }
}
