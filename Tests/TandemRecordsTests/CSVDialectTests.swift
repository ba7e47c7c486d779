import TandemRecords
import Testing

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

  @Test("the message for a dialect that was not named says how to name it")
  func hints() {
    for (text, option) in [
      ("a;b\n1;2\n", "--delimiter ';'"), ("a\tb\n1\t2\n", "--delimiter tab"),
      ("a|b\n1|2\n", "--delimiter '|'"),
    ] {
      #expect(message(Array(text.utf8))?.contains(option) == true, "\(text)")
    }
    #expect(message([0xFF, 0xFE, 0x61, 0])?.contains("--encoding utf-16") == true)
    #expect(message([0x61, 0x0A, 0xE9])?.contains("--encoding windows-1252") == true)
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
}
