import Foundation
import TestRandom
import Testing

@testable import TandemRecords

@Suite("Records as Codable values")
struct RecordCodingTests {
  private struct Address: Codable, Equatable {
    var street: String
    var since: Date?
    var price: Decimal?
    var page: URL?
    var photo: Data?
    var owner: UUID?
  }

  private enum Kind: String, Codable { case town, village }

  private struct Place: Codable, Equatable {
    var id: Int
    var kind: Kind
    var isCapital: Bool
    var tags: [String]
    var address: Address
    var founded: Date
    var page: URL
    var token: UUID
    var price: Decimal
    var counts: [String: Int]?
    var height: Double?
  }

  private static let token = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"

  private static let json = """
    [{"id": 1, "kind": "town", "isCapital": true, "tags": ["a", "b"], "other": 7,
      "address": {"street": "Main", "since": "2024-05-01T12:00:00.5Z", "price": 0.10,
        "page": "https://example.org", "photo": "AQID", "owner": "\(token)"},
      "founded": "2024-05-01T14:00:00+02:00", "page": "https://example.org/a?b=1",
      "token": "\(token)", "price": 12.50, "counts": {"x": 1}, "height": null}]
    """

  private static let date = Date(timeIntervalSince1970: 1_714_564_800)

  private func place() throws -> Place {
    try Place(
      id: 1, kind: .town, isCapital: true, tags: ["a", "b"],
      address: Address(
        street: "Main", since: Self.date + 0.5, price: Decimal(string: "0.1"),
        page: URL(string: "https://example.org"), photo: Data([1, 2, 3]),
        owner: UUID(uuidString: Self.token)),
      founded: Self.date, page: #require(URL(string: "https://example.org/a?b=1")),
      token: #require(UUID(uuidString: Self.token)), price: #require(Decimal(string: "12.5")),
      counts: ["x": 1], height: nil)
  }

  @Test("a list is read as values of a type, also with dates, URLs, UUIDs, decimals and parts")
  func reading() throws {
    let places = try RecordReader.read([Place].self, in: Self.json, format: .json)
    #expect(places == [try place()])
    let records = try RecordReader.records(in: Self.json, format: .json)
    #expect(try records[0].decoded(as: Place.self) == places[0])
  }

  @Test("a value becomes the record that a list of it is read as, and comes back as it was")
  func roundTrip() throws {
    let record = try Record(encoding: place())
    #expect(record["tags"] == #"["a","b"]"#)
    #expect(record["founded"] == "2024-05-01T12:00:00Z")
    #expect(record["page"] == "https://example.org/a?b=1")
    #expect(record["token"] == .text(Self.token))
    #expect(record["price"] == 12.5)
    #expect(record["isCapital"] == 1 && record["kind"] == "town")
    let address =
      #"{"owner":"\#(Self.token)","page":"https://example.org","photo":"AQID","price":0.1,"#
      + #""since":"2024-05-01T12:00:00.5Z","street":"Main"}"#
    #expect(record["address"] == .text(address))
    #expect(try record.decoded(as: Place.self) == place())
  }

  @Test("CSV is read as values of a type too")
  func csv() throws {
    struct Row: Codable, Equatable {
      var id: Int
      var day: Date?
      var price: Decimal
    }
    let text = "id,day,price\n1,2024-05-01 12:00:00,1.5\n2,,12345678901234567890.123\n"
    let rows = try RecordReader.read(
      [Row].self, in: text, format: .csv, coding: RecordCoding(dates: .sqliteText))
    #expect(rows.map(\.day) == [Self.date, nil])
    #expect(rows.map { "\($0.price)" } == ["1.5", "12345678901234567890.123"])
  }

  @Test(
    "a value that its type cannot hold is an error that names the record and the field",
    arguments: [
      (#""id": 1.5"#, "id: 1.5 is no Int"), (#""id": "1""#, #"id: "1" is no Int"#),
      (#""isCapital": 2"#, "isCapital: 2 is no Bool"),
      (#""kind": "city""#, "kind: "), (#""tags": [1]"#, "tags: [0]: 1 is no String"),
      (#""tags": "a""#, #"tags: "a" is no "#), (#""tags": 1"#, "tags: 1 is no "),
      (#""address": {}"#, "address: no field street"),
      (
        #""founded": "2024-05-01""#,
        "founded: \"2024-05-01\" is no Date; the type takes a date such as"
      ),
      (#""founded": "2024-05-01T12:00:00""#, "with an offset"),
      (#""founded": "2024-05-01T12:00:00.123456789Z""#, "founded: "),
      (#""founded": "2024-02-30T12:00:00Z""#, "founded: "),
      (#""founded": 1"#, "founded: 1 is no Date"),
      (#""page": """#, "page: \"\" is no URL"), (#""token": "x""#, "token: \"x\" is no UUID"),
      (#""price": "x""#, "price: \"x\" is no "), (#""founded": null"#, "founded: null is no Date"),
    ])
  func mismatches(field: String, message: String) throws {
    let name = try #require(field.split(separator: "\"").first)
    // The second record is wrong.
    let fields = Self.json.dropFirst(2).dropLast(2)
    let wrong = try RecordReader.records(in: "[{\(field)}]", format: .json)[0]
    var record = try RecordReader.records(in: "[{\(fields)}]", format: .json)[0]
    let offset = try #require(record.layout.offset(of: String(name)))
    record.values[offset] = wrong.values[0]
    var text: [UInt8] = []
    RecordWriter.appendJSON([try Record(encoding: place()), record], to: &text)
    let error = #expect(throws: RecordError.self) {
      _ = try RecordReader.read([Place].self, in: text, format: .json)
    }
    #expect(error?.code == .typeMismatch && error?.record == 2)
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
  }

  @Test("a field that is missing is an error, or nil for an optional")
  func missing() throws {
    struct Part: Codable, Equatable {
      var a: Int
      var b: Int?
    }
    #expect(try (["a": 1] as Record).decoded() == Part(a: 1, b: nil))
    let error = #expect(throws: RecordError.self) {
      _ = try (["b": 1] as Record).decoded(as: Part.self)
    }
    #expect(error?.message.contains("there is no field \"a\"") == true)
  }

  @Test("values that have no form in a field are errors that name the field")
  func unstorable() throws {
    struct Value<Field: Codable>: Codable { var field: Field }
    func message(_ field: some Codable) -> String {
      let error = #expect(throws: RecordError.self) { try Record(encoding: Value(field: field)) }
      return error?.message ?? ""
    }
    #expect(message(Date.distantFuture + 1e12).contains("field field: "))
    #expect(message(Date(timeIntervalSinceReferenceDate: .nan)).contains("field"))
    #expect(message(URL(string: "b", relativeTo: URL(string: "https://a"))).contains("absoluteURL"))
    #expect(message(Decimal.nan).contains("it is not a number"))
    #expect(message(UInt64.max).contains("no field holds it"))
    #expect(message([Double.infinity]).contains("not finite"))
    #expect(throws: RecordError.self) { try Record(encoding: [1, 2]) }
    #expect(throws: RecordError.self) { try Record(encoding: 1) }
  }

  // MARK: Dates

  @Test(
    "each form of dates is read as Foundation reads it, and written as it was",
    arguments: [
      (RecordDateCoding.iso8601, "2024-05-01T12:00:00Z" as FieldValue),
      (.iso8601, "2024-05-01T12:00:00.5Z"), (.sqliteText, "2024-05-01 12:00:00"),
      (.sqliteText, "2024-05-01 12:00:00.123456"), (.secondsSince1970, 1_714_564_800),
      (.secondsSince1970, 1_714_564_800.25), (.secondsSince1970, -0.5),
      (.millisecondsSince1970, 1_714_564_800_123), (.millisecondsSince1970, -1),
      (.secondsSince2001, 1.25), (.secondsSince2001, -3), (.iso8601, "0001-01-01T00:00:00Z"),
      (.iso8601, "0000-02-29T00:00:00Z"),
      (.iso8601, "9999-12-31T23:59:59Z"), (.iso8601, "1969-12-31T23:59:59.999Z"),
      (.iso8601, "2000-12-31T23:59:59.00001Z"),
    ])
  func dates(coding: RecordDateCoding, value: FieldValue) throws {
    struct Row: Codable, Equatable { var date: Date }
    let record: Record = ["date": value]
    let coding = RecordCoding(dates: coding)
    let row = try record.decoded(as: Row.self, coding: coding)
    switch value {
    // Foundation counts days before 1582 by the Julian calendar, ISO 8601 does not.
    case .text(let text) where text > "1600":
      var text = text.contains("T") ? text : text.replacingOccurrences(of: " ", with: "T") + "Z"
      let fraction = text.firstIndex(of: ".").map { text[$0...].dropLast() } ?? "0"
      text = text.contains(".") ? text.prefix(19) + "Z" : text
      let decoder = JSONDecoder()
      decoder.dateDecodingStrategy = .iso8601
      let whole = try decoder.decode([Date].self, from: Data("[\"\(text)\"]".utf8))[0]
      let decimals = try #require(Double(String("0" + fraction)))
      let seconds = whole.timeIntervalSinceReferenceDate + decimals
      #expect(abs(row.date.timeIntervalSinceReferenceDate - seconds) < 1e-5)
    default: break
    }
    #expect(try Record(encoding: row, coding: coding).hasSameStorage(as: record))
  }

  @Test("every date that a program makes comes back bit by bit", arguments: 0..<20 as Range<UInt64>)
  func anyDate(seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    for _ in 0..<200 {
      let scale = pow(10, Double.random(in: 0...10.8, using: &generator))
      let date = Date(
        timeIntervalSinceReferenceDate: Double.random(in: -1...1, using: &generator) * scale)
      for coding in [RecordDateCoding.iso8601, .sqliteText, .secondsSince2001] {
        let coding = RecordCoding(dates: coding)
        let record = try Record(encoding: ["date": date], coding: coding)
        #expect(
          try record.decoded(as: [String: Date].self, coding: coding) == ["date": date],
          "seed \(seed)")
      }
      // Rounded to the unit, and exact from then on.
      for (form, unit) in [
        (RecordDateCoding.secondsSince1970, 1e-5), (.millisecondsSince1970, 0.000501),
      ] {
        let coding = RecordCoding(dates: form)
        let record = try Record(encoding: ["date": date], coding: coding)
        let near = try record.decoded(as: [String: Date].self, coding: coding)
        #expect(
          abs(near["date", default: .distantPast].timeIntervalSince(date)) <= unit, "seed \(seed)")
      }
    }
  }

  @Test("the dates that programs use for never and always have a form")
  func distantDates() throws {
    for date in [Date.distantPast, .distantFuture] {
      for form in [
        RecordDateCoding.iso8601, .sqliteText, .secondsSince1970, .millisecondsSince1970,
      ] {
        let coding = RecordCoding(dates: form)
        let record = try Record(encoding: ["date": date], coding: coding)
        #expect(try record.decoded(coding: coding) == ["date": date])
      }
    }
  }

  @Test("an offset and every form of SQLite are read as the instant that they are")
  func dateForms() throws {
    let noon = Instant("2024-05-01T12:00:00Z", .iso8601)
    for text in [
      "2024-05-01T14:00:00+02:00", "2024-05-01T06:30:00-0530", "2024-05-01t12:00:00z",
      "2024-05-01T12:00Z", "2024-05-01T13:00:00.000+01",
    ] { #expect(Instant(.text(text), .iso8601) == noon && noon != nil, "\(text)") }
    for text in ["2024-05-01 12:00", "2024-05-01T12:00:00", "2024-05-01 12:00:00.000Z"] {
      #expect(Instant(.text(text), .sqliteText) == noon, "\(text)")
    }
    #expect(Instant("2024-05-01", .sqliteText) == Instant("2024-05-01T00:00:00Z", .iso8601))
    for text in [
      "", "2024", "2024-5-01T12:00:00Z", "2024-05-01 12:00:00Z", "2024-05-01T24:00:00Z",
      "2024-05-01T12:60:00Z", "2024-05-01T12:00:60Z", "2024-13-01T12:00:00Z",
      "2024-05-01T12:00:00.Z",
      "2024-05-01T12:00:00+", "2024-05-01T12:00:00+24:00", "2024-05-01T12:00:00Zx",
      "x024-05-01T12:00:00Z",
      "2023-02-29T12:00:00Z", "2024-05-01T12:00:00+02:",
      "-024-05-01T12:00:00Z",
      "2024-05-01T12:00:00.0000000000000000000000001Z", "\u{0663}024-05-01T12:00:00Z",
    ] { #expect(Instant(.text(text), .iso8601) == nil, "\(text)") }
    for value in [FieldValue.null, .blob([]), .real(.infinity), .real(1e300), .integer(.max)] {
      #expect(Instant(value, .iso8601) == nil)
      _ = Instant(value, .millisecondsSince1970)
      #expect(Instant(value, .secondsSince1970)?.fieldValue(.iso8601) == nil)
    }
  }

  // MARK: Decimals, UUIDs, bytes

  @Test("every decimal that Foundation prints is held exactly", arguments: 0..<20 as Range<UInt64>)
  func decimals(seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    for _ in 0..<200 {
      let digits = (0..<Int.random(in: 1...38, using: &generator)).map { _ in
        String(Int.random(in: 0...9, using: &generator))
      }.joined()
      let exponent = Int.random(in: -60...60, using: &generator)
      let text = (Bool.random(using: &generator) ? "-" : "") + digits + "e\(exponent)"
      let decimal = try #require(Decimal(string: text), "\(text)")
      let record = try Record(encoding: ["price": decimal])
      #expect(
        try record.decoded(as: [String: Decimal].self) == ["price": decimal],
        "seed \(seed): \(text)")
      let nested = try Record(encoding: ["prices": [decimal]])
      #expect(
        try nested.decoded(as: [String: [Decimal]].self) == ["prices": [decimal]],
        "seed \(seed): \(text)")
    }
  }

  @Test("decimals are numbers where that is exact, and otherwise texts")
  func decimalForms() throws {
    for (text, value) in [
      ("12", 12 as FieldValue), ("12.50", 12.5), ("-0.1", -0.1),
      ("9223372036854775807", .integer(.max)),
      ("9223372036854775808", "9223372036854775808"), ("0.1234567890123456", "0.1234567890123456"),
      ("123456789012.345", 123_456_789_012.345), ("0", 0),
    ] {
      let decimal = try #require(Decimal(string: text))
      #expect(try Record(encoding: ["a": decimal])["a"].hasSameStorage(as: value), "\(text)")
    }
    struct Row: Codable { var a: Decimal }
    for value in [
      FieldValue.text("1e200"), .text("1e-129"), .real(1e300), .text("1 "), .text("0x1"), .text(""),
      .blob([]),
    ] {
      #expect(throws: RecordError.self) { try (["a": value] as Record).decoded(as: Row.self) }
    }
    #expect(try (["a": 0.1] as Record).decoded(as: Row.self).a == Decimal(string: "0.1"))
  }

  @Test("UUIDs are written in the chosen case, and read in both")
  func uuids() throws {
    let id = try #require(UUID(uuidString: Self.token))
    let upper = RecordCoding(uuids: .uppercase)
    #expect(try Record(encoding: ["id": id])["id"] == .text(Self.token))
    #expect(try Record(encoding: ["id": id], coding: upper)["id"] == .text(id.uuidString))
    for text in [Self.token, id.uuidString] {
      #expect(try (["id": .text(text)] as Record).decoded() == ["id": id])
    }
  }

  @Test("bytes are a blob in a field, and base64 in JSON, as Foundation writes it")
  func bytes() throws {
    for count in 0..<20 {
      let data = Data((0..<count).map { UInt8($0 * 13 % 256) })
      let record = try Record(encoding: ["data": data])
      #expect(record["data"] == .blob(Array(data)))
      #expect(try record.decoded() == ["data": data])
      let nested = try Record(encoding: ["list": [data]])
      #expect(nested["list"] == .text("[\"\(data.base64EncodedString())\"]"))
      #expect(try nested.decoded() == ["list": [data]])
    }
    for text in ["A", "AQ", "AQ==AQ==", "AR==", "A\u{308}Q=", "=", "AQI"] {
      #expect(throws: RecordError.self, "\(text)") {
        let record: Record = ["list": .text("[\"\(text)\"]")]
        _ = try record.decoded(as: [String: [Data]].self)
      }
    }
  }

  /// A class whose parent encodes itself in a container of its own, and a type that writes into
  /// nested containers.
  private struct Nesting: Codable, Equatable {
    var x: Int
    var y: [Int]

    enum CodingKeys: CodingKey { case point, list }
    enum PointKeys: CodingKey { case x }

    init(x: Int, y: [Int]) { (self.x, self.y) = (x, y) }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      x = try container.nestedContainer(keyedBy: PointKeys.self, forKey: .point).decode(
        Int.self, forKey: .x)
      var list = try container.nestedUnkeyedContainer(forKey: .list)
      y = []
      while !list.isAtEnd { y.append(try list.decode(Int.self)) }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      var point = container.nestedContainer(keyedBy: PointKeys.self, forKey: .point)
      try point.encode(x, forKey: .x)
      var list = container.nestedUnkeyedContainer(forKey: .list)
      for number in y { try list.encode(number) }
    }
  }

  @Test("nested containers are JSON too")
  func nestedContainers() throws {
    let record = try Record(encoding: Nesting(x: 1, y: [2, 3]))
    #expect(record == ["point": #"{"x":1}"#, "list": "[2,3]"])
    #expect(try record.decoded() == Nesting(x: 1, y: [2, 3]))
    let empty = try Record(encoding: Nesting(x: 1, y: []))
    #expect(empty["list"] == "[]")
    #expect(try empty.decoded() == Nesting(x: 1, y: []))
  }

  @Test("JSON that nests too deep is an error, not the end of the process")
  func depth() throws {
    let text = String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000)
    indirect enum Deep: Codable {
      case list([Deep])
      init(from decoder: any Decoder) throws { self = .list(try [Deep](from: decoder)) }
      func encode(to encoder: any Encoder) throws {}
    }
    #expect(throws: RecordError.self) {
      try (["a": .text(text)] as Record).decoded(as: [String: Deep].self)
    }
  }
}
