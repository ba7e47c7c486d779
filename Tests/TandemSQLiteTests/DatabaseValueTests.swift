import TandemRecords
import TandemSQLite
import Testing

struct DatabaseValueTests {
  private let database: Database

  init() throws { database = try Database(path: ":memory:") }

  /// What a type makes of a value, by way of a parameter, a column, and in memory.
  private func read<Value: DatabaseValue & Equatable>(
    _ value: FieldValue, as type: Value.Type, at location: SourceLocation = #_sourceLocation
  ) throws -> Value? {
    let direct = Value(fieldValue: value)
    let column = try? database.read { try $0.fetchValue("SELECT \(value)", as: type) }
    #expect(direct == column, "\(value) as \(type)", sourceLocation: location)
    return direct
  }

  /// Whether a value comes back from SQLite as it was.
  private func roundTrips<Value: DatabaseValue & Equatable>(_ value: Value) throws -> Bool {
    let stored = try database.read { try $0.fetchValue("SELECT \(value)", as: FieldValue.self) }
    let expected = value.fieldValue
    let copy = try database.read { try $0.fetchValue("SELECT \(value)", as: Value.self) }
    return stored.map(exact) == expected.map(exact) && copy == value
  }

  private func limitsRoundTrip<Value: FixedWidthInteger & DatabaseValue>(
    _ type: Value.Type
  ) throws -> Bool {
    try [Value.min, 0, 1, Value.max].allSatisfy { value in
      Int64(exactly: value) == nil ? value.fieldValue == nil : try roundTrips(value)
    }
  }

  @Test("every integer type keeps its limits; what is beyond 64 bits cannot be stored")
  func integers() throws {
    #expect(try limitsRoundTrip(Int.self) && limitsRoundTrip(UInt.self))
    #expect(try limitsRoundTrip(Int8.self) && limitsRoundTrip(UInt8.self))
    #expect(try limitsRoundTrip(Int16.self) && limitsRoundTrip(UInt16.self))
    #expect(try limitsRoundTrip(Int32.self) && limitsRoundTrip(UInt32.self))
    #expect(try limitsRoundTrip(Int64.self) && limitsRoundTrip(UInt64.self))
    #expect((UInt64(Int64.max) + 1).fieldValue == nil)
  }

  @Test("an integer is read from an integer, or a whole real, in its range; never from a text")
  func integersRead() throws {
    for value in nastyValues {
      let expected: Int64? =
        switch value {
        case .integer(let number): number
        case .real(let number): Int64(exactly: number)
        default: nil
        }
      #expect(try read(value, as: Int64.self) == expected, "\(value)")
      #expect(try read(value, as: UInt8.self) == expected.flatMap { UInt8(exactly: $0) })
      #expect(try read(value, as: Int32.self) == expected.flatMap { Int32(exactly: $0) })
      #expect(try read(value, as: UInt64.self) == expected.flatMap { UInt64(exactly: $0) })
    }
  }

  @Test("a real is read from a real, or an integer it holds exactly; a Float only if it is one")
  func reals() throws {
    for value in nastyValues {
      let expected: Double? =
        switch value {
        case .integer(let number): Double(exactly: number)
        case .real(let number): number
        default: nil
        }
      #expect(try read(value, as: Double.self)?.bitPattern == expected?.bitPattern, "\(value)")
      #expect(try read(value, as: Float.self) == expected.flatMap { Float(exactly: $0) })
    }
    #expect(Double.nan.fieldValue == nil)
    #expect(try roundTrips(-0.0) && roundTrips(Double.infinity) && roundTrips(Float(0.1)))
  }

  @Test("a Bool is 0 or 1 and no other number")
  func booleans() throws {
    #expect(try roundTrips(true) && roundTrips(false))
    for value in nastyValues {
      let expected: Bool? = exact(value) == exact(0) ? false : exact(value) == exact(1) ? true : nil
      #expect(try read(value, as: Bool.self) == expected, "\(value)")
    }
  }

  @Test("texts and blobs keep every byte, and are not taken for each other")
  func textsAndBlobs() throws {
    for value in nastyValues {
      if case .text(let text) = value {
        #expect(try read(value, as: String.self).map { Array($0.utf8) } == Array(text.utf8))
        #expect(try read(value, as: [UInt8].self) == nil)
      } else if case .blob(let bytes) = value {
        #expect(try read(value, as: [UInt8].self) == bytes)
        #expect(try read(value, as: String.self) == nil)
      } else {
        #expect(try read(value, as: String.self) == nil)
        #expect(try read(value, as: [UInt8].self) == nil)
      }
    }
    let long = String(repeating: "é", count: 100_000)
    #expect(try roundTrips(long) && roundTrips(Array(long.utf8)))
  }

  @Test("a text that is not UTF-8 is an error, not repaired")
  func invalidText() throws {
    for bytes in ["CAST(x'FF' AS TEXT)", "CAST(x'6100FF' AS TEXT)", "CAST(x'C3' AS TEXT)"] {
      let error = try databaseError {
        _ = try database.read { try $0.fetchValue(SQL(text: "SELECT \(bytes)"), as: String.self) }
      }
      #expect(error.code == .mismatch)
      #expect(error.message.contains("UTF-8"))
    }
  }

  @Test(
    "null is nil of an optional and nothing else; other values are the wrapped type's or an error")
  func optionals() throws {
    for value in nastyValues {
      let optional = try read(value, as: Int?.self)
      if case .null = value {
        #expect(optional == .some(nil))
      } else {
        #expect(optional.map { $0 } == Int(fieldValue: value).map { .some($0) })
      }
    }
    #expect(try roundTrips(String?.none) && roundTrips(String?.some("a")))
    #expect((UInt64?.some(.max)).fieldValue == nil)
  }

  @Test("an enumeration is its raw value; an unknown one is an error that names column and value")
  func rawValues() throws {
    enum Kind: String, DatabaseValue { case town, village }
    enum Level: Int, DatabaseValue { case low = 1 }
    #expect(try roundTrips(Kind.village) && roundTrips(Level.low))
    let error = try databaseError {
      _ = try database.read { try $0.fetchValue("SELECT 'city' AS kind", as: Kind.self) }
    }
    #expect(error.code == .mismatch)
    #expect(error.message.contains("kind") && error.message.contains("city"))
    #expect(try read(2, as: Level.self) == nil)
  }

  @Test("a FieldValue is read back exactly")
  func fieldValues() throws {
    for value in nastyValues {
      let copy = try database.read { try $0.fetchValue("SELECT \(value)", as: FieldValue.self) }
      #expect(copy.map(exact) == exact(value))
    }
  }

  @Test("a type of one's own needs two conversions")
  func ownType() throws {
    struct Point: DatabaseValue, Equatable {
      var x: Int
      init(x: Int) { self.x = x }
      init?(fieldValue: FieldValue) {
        guard case .text(let text) = fieldValue, let x = Int(text.dropFirst()) else { return nil }
        self.x = x
      }
      var fieldValue: FieldValue? { x < 0 ? nil : .text("x\(x)") }
    }
    #expect(try roundTrips(Point(x: 3)))
    #expect(try read("x12", as: Point.self) == Point(x: 12))
    #expect(try read("xa", as: Point.self) == nil)
    let error = try databaseError {
      _ = try database.read { try $0.fetchValue("SELECT \(Point(x: -1))", as: Point.self) }
    }
    #expect(error.code == .mismatch)
  }
}
