import Testing

@testable import TandemRecords

struct CSVDialectTests {
  private func list(_ text: String, _ options: CSVOptions, _ format: RecordFormat = .csv) throws
    -> [[ExactText]]
  {
    try RecordReader.records(in: Array(text.utf8), format: format, csv: options).map(exactFields)
  }

  private func message(_ bytes: [UInt8], _ options: CSVOptions = CSVOptions()) -> String? {
    do throws(RecordError) {
      _ = try RecordReader.records(in: bytes, format: .csv, csv: options)
      return nil
    } catch {
      return error.description
    }
  }

  @Test("fields are separated by the delimiter that is named, and by tabs in .tsv")
  func delimiters() throws {
    let fields: [[ExactText]] = [["a: 1", "b: \"x,y\""]]
    #expect(try list("a;b\n1;x,y\n", CSVOptions(delimiter: UInt8(ascii: ";"))) == fields)
    #expect(try list("a\tb\n1\tx,y\n", CSVOptions(), .tsv) == fields)
    #expect(try list("a|b\n1|x,y\n", CSVOptions(delimiter: UInt8(ascii: "|"))) == fields)
    // A list of one field is one if the comma is named.
    #expect(try list("a;b\n1\n", CSVOptions(delimiter: UInt8(ascii: ","))) == [["a;b: 1"]])
  }

  @Test("fields of texts have the cells as they are, and other fields the type of their values")
  func textFields() throws {
    var options = CSVOptions()
    options.textFields = ["B", "c", "absent"]
    #expect(
      try list("a,b,c,d\n1,1.50,2,1.50\n2,,1e5,3\n", options)
        == [
          ["a: 1", "b: \"1.50\"", "c: \"2\"", "d: 1.5"],
          ["a: 2", "b: null", "c: \"1e5\"", "d: 3.0"],
        ])
  }

  @Test("a declared field of texts has precedence over a column whose name differs in case")
  func textFieldsAndColumns() throws {
    var options = CSVOptions()
    let names = (0..<20).map { "Code\($0)" }
    options.textFields = names
    options.columnKinds = Dictionary(
      uniqueKeysWithValues: names.map { ($0.lowercased(), .numbers) })
    let text =
      names.joined(separator: ",") + "\n" + names.map { _ in "1.50" }.joined(separator: ",")
    #expect(try list(text, options) == [names.map { "\($0): \"1.50\"" }])
  }

  @Test("the message for a dialect that was not named says how to name it")
  func hints() {
    for (text, option) in [
      ("a;b\n1;2\n", "`delimiter` ';'"), ("a\tb\n1\t2\n", "`delimiter` tab"),
      ("a|b\n1|2\n", "`delimiter` '|'"),
    ] {
      #expect(message(Array(text.utf8))?.contains(option) == true, "\(text)")
    }
    #expect(message([0xFF, 0xFE, 0x61, 0])?.contains("`encoding` utf-16") == true)
    #expect(message([0x61, 0x0A, 0xE9])?.contains("`encoding` windows-1252") == true)
    #expect(
      message([0x61, 0x0A, 0x80], CSVOptions(encoding: .latin1))?.contains("windows-1252") == true)
  }

  @Test("a text of another encoding is the same list")
  func encodings() throws {
    let text = "id,n\n1,é€😀\n2,“x”\n"
    for isBigEndian in [false, true] {
      var bytes: [UInt8] = isBigEndian ? [0xFE, 0xFF] : [0xFF, 0xFE]
      for unit in text.utf16 {
        let pair = [UInt8(unit >> 8), UInt8(unit & 0xFF)]
        bytes += isBigEndian ? pair : pair.reversed()
      }
      let options = CSVOptions(encoding: .utf16)
      let records = try RecordReader.records(in: bytes, format: .csv, csv: options)
      #expect(records.map(exactFields) == (try list(text, CSVOptions())))
      #expect(CSVEncoding.utf16.bytes(of: Array(text.utf8), like: bytes) == bytes)
      for count in 1..<bytes.count where !count.isMultiple(of: 2) {
        #expect(message(Array(bytes[..<count]), options) != nil)
      }
    }
    let windows = Array("id,n\n1,".utf8) + [0xE9, 0x80, 0x93, 0x78, 0x94]
    let options = CSVOptions(encoding: .windows1252)
    let records = try RecordReader.records(in: windows, format: .csv, csv: options)
    #expect(records.map(exactFields) == [["id: 1", "n: \"é€“x”\""]])
    #expect(
      CSVEncoding.windows1252.bytes(of: Array("id,n\n1,é€“x”".utf8), like: []) == windows)
    #expect(CSVEncoding.latin1.bytes(of: Array("€".utf8), like: []) == nil)
    #expect(message([0x61, 0x0A, 0x81], options) != nil)
    #expect(message([0xFF, 0xFE, 0x00, 0xD8], CSVOptions(encoding: .utf16)) != nil)
  }

  @Test("comments and empty lines are skipped; a cell in quotes is no comment")
  func comments() throws {
    let options = CSVOptions(comment: UInt8(ascii: "#"))
    let text = "# made by hand\n\na,b\n#1,2\n3,4\n\n\"#5\",6\n# end"
    #expect(try list(text, options) == [["a: \"3\"", "b: 4"], ["a: \"#5\"", "b: 6"]])
  }

  @Test("ragged rows are read if they are allowed, and lose no value")
  func ragged() throws {
    let options = CSVOptions(allowsRaggedRows: true)
    #expect(
      try list("a,b\n1\n2,3,,\n", options) == [["a: 1", "b: null"], ["a: 2", "b: 3"]])
    #expect(message(Array("a,b\n1,2,3\n".utf8), options)?.contains("more fields") == true)
    #expect(message(Array("a,b\n1\n".utf8))?.contains("fewer fields") == true)
  }

  @Test("lines may all end with a carriage return, and errors count them")
  func carriageReturns() throws {
    let fields: [[ExactText]] = [["a: 1", "b: \"x\\ny\\rz\""], ["a: 2", "b: null"]]
    #expect(try list("a,b\r1,\"x\ny\rz\"\r\r2,\r", CSVOptions()) == fields)
    #expect(try list("\u{FEFF}\"a\r\",b\r1,2", CSVOptions()) == [["a\r: 1", "b: 2"]])
    #expect(
      try list("#c\ra\r#d\r1\r", CSVOptions(comment: UInt8(ascii: "#"))) == [["a: 1"]])
    #expect(message(Array("a,b\r1,2\r3\r".utf8))?.contains("record 2 (line 3, column 2)") == true)
    for text in ["a\r1\n2\r", "a\r1\r\n2\r"] {
      #expect(message(Array(text.utf8))?.contains("line feed") == true, "\(text)")
    }
    for text in ["a\n1\r2\n", "a\r\n1\r2\r\n", "a\r"] {
      #expect(message(Array(text.utf8)) != nil, "\(text)")
    }
    let merged = try ListText(Array("a,b\r1,2\r".utf8), format: .csv)
    #expect(merged.lineEnd == [13])
  }

  @Test("a text without a header has fields of numbered names")
  func noHeader() throws {
    var options = CSVOptions()
    options.hasHeader = false
    #expect(
      try list("1,x\n2,\n", options)
        == [["column_1: 1", "column_2: \"x\""], ["column_1: 2", "column_2: null"]])
    #expect(try list("1\n1\n", options) == [["column_1: 1"], ["column_1: 1"]])
    #expect(message(Array("1,2\n3\n".utf8), options)?.contains("record 2 (line 2") == true)
    #expect(message(Array("1;2\n".utf8), options)?.contains("`delimiter` ';'") == true)
    options.requiredFields = ["id"]
    #expect(
      message(Array("1,2\n".utf8), options)?.contains(
        "the first row has no field \"id\"; its fields are column_1, column_2") == true)
    let text = try ListText(Array("1,2\n3,4\n".utf8), format: .csv, csv: CSVOptions.headless)
    #expect(text.records.map(\.values) == [[.text("1"), .text("2")], [.text("3"), .text("4")]])
  }

  @Test("lines before the header are skipped, whatever is in them")
  func skippedLines() throws {
    var options = CSVOptions()
    options.skippedLineCount = 2
    #expect(try list("My \"export\n;;;\n\na,b\n1,2\n", options) == [["a: 1", "b: 2"]])
    #expect(try list("x\ry\ra\r1\r", options) == [["a: 1"]])
    #expect(
      message(Array("a\n1".utf8), options)?.contains("no line behind the 2 lines to skip") == true)
    #expect(
      message(Array("a\n1\n".utf8), options)?.contains("before a line of field names") == true)
  }

  @Test("quotes and line ends in comments and skipped lines mean nothing for the lines behind them")
  func preambles() throws {
    var options = CSVOptions(comment: UInt8(ascii: "#"))
    let fields: [[ExactText]] = [["id: 1", "n: \"a\\rb\""]]
    #expect(try list("# it is 5\"\nid,n\n1,\"a\rb\"\n", options) == fields)
    options.skippedLineCount = 1
    #expect(try list("Title\r\rid,n\n1,\"a\rb\"\n", options) == fields)
    #expect(try list("5\"\r\n# 5\"\r\n\r\nid,n\r\n1,\"a\rb\"\r\n", options) == fields)
    #expect(try list("5\"\n\nid,n\r1,x\r", options) == [["id: 1", "n: \"x\""]])
  }

  @Test("stray quotes are an error that names the option for them, or characters")
  func quotes() throws {
    for text in ["a,b\n5\" x,1\n", "a,b\n\"x\" y,1\n"] {
      #expect(message(Array(text.utf8))?.contains("`quotes` lenient") == true, "\(text)")
    }
    let tabs = message(Array("a\tb\n\"x\" y\t1\n".utf8), CSVOptions(delimiter: 9))
    #expect(tabs?.contains("`quotes` none") == true)
    // In a text with tabs, only a quote at the start of a field can mean anything else.
    #expect(
      try list("a\tb\n5\" x\t\"q\"\n", CSVOptions(), .tsv) == [["a: \"5\\\" x\"", "b: \"q\""]])
    var options = CSVOptions()
    options.quotes = .lenient
    for (cell, value) in [
      ("5\" x", "5\\\" x"), ("\"x\" y\"", "x\\\" y"),
      ("\"he said \"hi\" then\"", "he said \\\"hi\\\" then"),
      ("\"the \"b\"\"", "the \\\"b\\\""), ("\"a\"\"b\"", "a\\\"b"), ("\"a,b\"", "a,b"),
      ("\"x\"\"\"", "x\\\""),
    ] {
      for end in ["\n", "\r\n", ""] {
        #expect(
          try list("a,b\n\(cell),1\(end)", options) == [["a: \"\(value)\"", "b: 1"]], "\(cell)")
      }
    }
    #expect(message(Array("a\n\"x\n".utf8), options)?.contains("inside a quoted field") == true)
    options.quotes = .none
    #expect(
      try list("a\tb\n\"x\t5\"\n\"y\"\t\"\"\n", options, .tsv) == [
        ["a: \"\\\"x\"", "b: \"5\\\"\""], ["a: \"\\\"y\\\"\"", "b: \"\\\"\\\"\""],
      ])
  }

  @Test("a stray quote and a line end in one field are an error, because rows may be lost in it")
  func unmatchedQuotes() {
    var options = CSVOptions()
    options.quotes = .lenient
    for (rows, place) in [
      ("1,\"5\" x,2\n2,6\" y,3\n3,\"7\",4\n", "line 2, column 3"),
      ("1,\"open,2\n2,\"b\",3\n", "line 2, column 3"),
      ("0,a,0\n1,\"a\nb\" c\",2\n", "line 3, column 3"),
      ("1,\"5\" x,2\n2,b,3\n", "line 2, column 3"),
    ] {
      for end in ["\n", "\r\n", "\r"] {
        let text = "a,b,c\n\(rows)".replacing("\n", with: end)
        let message = message(Array(text.utf8), options)
        #expect(
          message?.contains("quotes of this field do not match") == true
            && message?.contains(place) == true, "\(rows): \(message ?? "")")
      }
    }
  }

  @Test("an error about a missing field names the fields of the header")
  func missingField() {
    var options = CSVOptions()
    options.requiredFields = ["id"]
    #expect(
      message(Array("code,name\n".utf8), options)?.contains(
        "the header has no field \"id\"; its fields are code, name") == true)
    let names = (1...30).map { "f\($0)" }.joined(separator: ",")
    #expect(message(Array(names.utf8), options)?.contains("f20, …") == true)
  }

  @Test("the charset of a Content-Type is an encoding, or none that can be read")
  func charsets() {
    for (type, charset, encoding) in [
      ("text/csv; charset=UTF-8", "utf-8", .utf8),
      ("text/csv;Charset=\"ISO-8859-1\"", "iso-8859-1", .windows1252),
      ("text/csv; header=present; charset=utf-16le", "utf-16le", .utf16),
      ("text/csv; charset=shift_jis", "shift_jis", nil), ("text/csv", nil, nil),
    ] as [(String, String?, CSVEncoding?)] {
      #expect(RecordFormat.charset(ofContentType: type) == charset)
      #expect(charset.flatMap { CSVEncoding(charset: $0) } == encoding)
    }
  }
}

extension CSVOptions {
  fileprivate static var headless: CSVOptions {
    var options = CSVOptions()
    options.hasHeader = false
    return options
  }
}
