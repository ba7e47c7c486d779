internal import TandemRecords

/// A message that is being read. The files of the messages extend it.
struct SyncMessageReading {
  /// The depth of an answer within a page: objections, and the values of their keys.
  static let maxNestingDepth = 8

  var cursor: JSONCursor
  let limits: SyncLimits
  /// The layout of the last record, which most records share with the one before.
  var lastLayout = SyncMessageReading.emptyLayout

  private static let emptyLayout = RecordLayout(uniqueNames: [])

  init(_ cursor: JSONCursor, _ limits: SyncLimits) {
    self.cursor = cursor
    self.limits = limits
  }
}

// MARK: - Values

extension SyncMessageReading {
  /// Reads an object; `body` reads the value of each field.
  mutating func object(
    _ body: (inout SyncMessageReading, MessageField) throws(TextFault) -> Void
  ) throws(TextFault) {
    guard try cursor.openObject() else { return }
    repeat {
      let start = cursor.index
      try body(&self, MessageField(name: try cursor.fieldName(), start: start))
    } while try cursor.hasNextField()
  }

  /// Reads an array of at most `maxCount` elements, each of which `body` reads.
  mutating func array<Element>(
    _ maxCount: Int, _ body: (inout SyncMessageReading) throws(TextFault) -> Element
  ) throws(TextFault) -> [Element] {
    var elements: [Element] = []
    guard try cursor.openArray() else { return elements }
    repeat {
      guard elements.count < maxCount else {
        throw TextFault(
          .limitExceeded, "the array has more than \(maxCount) elements", at: cursor.index)
      }
      elements.append(try body(&self))
    } while try cursor.hasNextElement()
    return elements
  }

  /// Reads a text that `convert` accepts.
  mutating func text<Value>(
    _ name: StaticString, _ convert: (String) -> Value?
  ) throws(TextFault) -> Value {
    let start = cursor.index
    guard let value = convert(try cursor.string()) else {
      throw TextFault(.malformed, "the text is not \(name)", at: start)
    }
    return value
  }

  /// Reads a token.
  mutating func token() throws(TextFault) -> SyncToken {
    try text("a token of 32 hexadecimal digits") { SyncToken($0) }
  }

  /// Reads a revision.
  mutating func revision() throws(TextFault) -> SpaceRevision {
    try text("a revision") { SpaceRevision($0) }
  }

  /// Reads a digest.
  mutating func digest() throws(TextFault) -> RecordDigest {
    try text("a digest of 32 hexadecimal digits") { RecordDigest($0) }
  }

  /// Reads a number that is at least `least`.
  mutating func count(from least: Int) throws(TextFault) -> Int {
    let start = cursor.index
    let count = try cursor.integer()
    guard count >= least else {
      throw TextFault(.malformed, "the number is less than \(least)", at: start)
    }
    return count
  }

  /// Reads `true`.
  @discardableResult
  mutating func literalTrue() throws(TextFault) -> Bool {
    let start = cursor.index
    guard case .bool(true) = try cursor.value() as JSONValue else {
      throw TextFault(.malformed, "expected true", at: start)
    }
    return true
  }
}

/// A field of a message whose value is being read.
struct MessageField {
  let name: String
  /// The offset of its name.
  let start: Int

  /// Sets the value of the field; throws if it has one.
  func set<Value>(_ target: inout Value?, _ value: Value) throws(TextFault) {
    guard target == nil else {
      throw TextFault(
        .duplicateField,
        "the field \(FieldValue.text(name)) occurs twice, or beside one that excludes it",
        at: start)
    }
    target = value
  }

  /// The fault of a field that the object does not have.
  func unknown() -> TextFault {
    TextFault(
      .malformed, "this version does not know the field \(FieldValue.text(name)) here", at: start)
  }
}

/// The value of a field that a message must have.
func required<Value>(
  _ value: Value?, _ name: String, _ start: Int
) throws(TextFault) -> Value {
  guard let value else {
    throw TextFault(.malformed, "the object lacks the field \"\(name)\"", at: start)
  }
  return value
}
