package import TandemRecords

/// Reads the messages of synchronization.
///
/// Any bytes either decode or throw a ``TextFault`` with the reason and its offset. Limits are
/// checked while reading, so a message takes no more memory than the limits allow. A field that
/// this version does not know is a fault: its sender expects it to have an effect. Fields may come
/// in any order.
package struct SyncMessageReader: Sendable {
  /// The limits.
  package let limits: SyncLimits

  /// A reader with the given limits.
  package init(limits: SyncLimits = SyncLimits()) { self.limits = limits }

  /// Reads a commit.
  package func commit(_ bytes: [UInt8]) throws(TextFault) -> SyncCommit {
    try read(bytes, limits.maxCommitByteCount) { (reading) throws(TextFault) in
      try reading.commit()
    }
  }

  /// Reads the answer to a commit: its outcome, or the refusal of the request as a whole.
  package func answer(_ bytes: [UInt8]) throws(TextFault) -> Result<SyncOutcome, SyncRefusal> {
    try read(bytes, limits.maxAnswerByteCount) { (reading) throws(TextFault) in
      try reading.answer()
    }
  }

  /// Reads a page.
  package func page(_ bytes: [UInt8]) throws(TextFault) -> SyncPage {
    try read(bytes, limits.maxPageMessageByteCount) { (reading) throws(TextFault) in
      try reading.page()
    }
  }

  /// Reads a declaration of tables.
  package func tables(_ bytes: [UInt8]) throws(TextFault) -> [SpaceTable] {
    try read(bytes, limits.maxCommitByteCount) { (reading) throws(TextFault) in
      try reading.tables()
    }
  }

  /// Reads the state of a space.
  package func state(_ bytes: [UInt8]) throws(TextFault) -> SpaceState {
    try read(bytes, limits.maxCommitByteCount) { (reading) throws(TextFault) in
      try reading.state()
    }
  }

  /// Reads a list of spaces.
  package func listings(_ bytes: [UInt8]) throws(TextFault) -> [SpaceListing] {
    try read(bytes, limits.maxCommitByteCount) { (reading) throws(TextFault) in
      try reading.listings()
    }
  }

  /// Reads the data of an event.
  package func event(_ bytes: [UInt8]) throws(TextFault) -> SyncEvent {
    try read(bytes, limits.maxPageMessageByteCount) { (reading) throws(TextFault) in
      try reading.event()
    }
  }

  /// Reads the values of a key.
  package func id(_ bytes: [UInt8]) throws(TextFault) -> [FieldValue] {
    try read(bytes, limits.maxRecordByteCount) { (reading) throws(TextFault) in try reading.id() }
  }

  /// Reads the fields of a record.
  package func fields(_ bytes: [UInt8]) throws(TextFault) -> Record {
    try read(bytes, limits.maxRecordByteCount) { (reading) throws(TextFault) in
      try reading.record()
    }
  }

  private func read<Value>(
    _ bytes: [UInt8], _ maxByteCount: Int,
    _ body: (inout SyncMessageReading) throws(TextFault) -> Value
  ) throws(TextFault) -> Value {
    guard bytes.count <= maxByteCount else {
      throw TextFault(
        .limitExceeded, "the message has \(bytes.count) bytes, more than \(maxByteCount)",
        at: maxByteCount)
    }
    return try JSONCursor.read(bytes, maxNestingDepth: SyncMessageReading.maxNestingDepth) {
      (cursor) throws(TextFault) in
      var reading = SyncMessageReading(cursor, limits)
      defer { cursor = reading.cursor }
      return try body(&reading)
    }
  }
}

extension SyncRefusal {
  /// The refusal of a message that cannot be read.
  package init(_ fault: TextFault) {
    self.init(
      fault.code == .limitExceeded ? .overLimit : .malformed,
      "the message cannot be read: \(fault)")
  }
}

/// A message that is being read.
private struct SyncMessageReading {
  /// The depth of an answer within a page: objections, and the values of their keys.
  static let maxNestingDepth = 8

  var cursor: JSONCursor
  private let limits: SyncLimits
  /// The layout of the last record, which most records share with the one before.
  private var lastLayout = RecordLayout(uniqueNames: [])

  init(_ cursor: JSONCursor, _ limits: SyncLimits) {
    self.cursor = cursor
    self.limits = limits
  }
}

// MARK: - Messages

extension SyncMessageReading {
  mutating func commit() throws(TextFault) -> SyncCommit {
    let start = cursor.index
    var replica: SyncToken?
    var sequence: Int?
    var id: SyncToken?
    var base: SpaceRevision?
    var changes: [SyncChange]?
    var overruled: [SyncRecordState]?
    try object { (reading, field) throws(TextFault) in
      switch field.name {
      case "replica": try field.set(&replica, try reading.token())
      case "sequence": try field.set(&sequence, try reading.count(from: 1))
      case "commit": try field.set(&id, try reading.token())
      case "base": try field.set(&base, try reading.revision())
      case "changes":
        try field.set(
          &changes,
          try reading.array(reading.limits.maxCommitChangeCount) { (reading) throws(TextFault) in
            try reading.change()
          })
      case "overruled":
        try field.set(
          &overruled,
          try reading.array(reading.limits.maxCommitChangeCount) { (reading) throws(TextFault) in
            try reading.recordState()
          })
      default: throw field.unknown()
      }
    }
    return SyncCommit(
      replica: try required(replica, "replica", start),
      sequence: try required(sequence, "sequence", start), id: try required(id, "commit", start),
      base: try required(base, "base", start), changes: try required(changes, "changes", start),
      overruled: overruled ?? [])
  }

  mutating func answer() throws(TextFault) -> Result<SyncOutcome, SyncRefusal> {
    let start = cursor.index
    var fields = AnswerFields()
    try object { (reading, field) throws(TextFault) in try fields.read(field, from: &reading) }
    if fields.outcome == "rejected" { return .failure(try fields.refusal(start)) }
    return .success(try fields.outcome(start))
  }

  mutating func page() throws(TextFault) -> SyncPage {
    let start = cursor.index
    var revision: SpaceRevision?
    var digest: RecordDigest?
    var replica: ReplicaStanding?
    var changes: [SyncRecordState]?
    var next: String?
    try object { (reading, field) throws(TextFault) in
      switch field.name {
      case "revision": try field.set(&revision, try reading.revision())
      case "digest": try field.set(&digest, try reading.digest())
      case "replica": try field.set(&replica, try reading.standing())
      case "changes": try field.set(&changes, try reading.states())
      case "next": try field.set(&next, try reading.cursor.string())
      default: throw field.unknown()
      }
    }
    return SyncPage(
      revision: try required(revision, "revision", start),
      digest: try required(digest, "digest", start), replica: replica,
      changes: try required(changes, "changes", start), next: next)
  }

  private mutating func standing() throws(TextFault) -> ReplicaStanding {
    let start = cursor.index
    var sequence: Int?
    var commit: SyncToken?
    var outcome: SyncOutcome?
    try object { (reading, field) throws(TextFault) in
      switch field.name {
      case "sequence": try field.set(&sequence, try reading.count(from: 1))
      case "commit": try field.set(&commit, try reading.token())
      case "outcome":
        guard case .success(let value) = try reading.answer() else {
          throw TextFault(.malformed, "a stored outcome is no refusal", at: field.start)
        }
        try field.set(&outcome, value)
      default: throw field.unknown()
      }
    }
    return ReplicaStanding(
      sequence: try required(sequence, "sequence", start),
      commit: try required(commit, "commit", start),
      outcome: try required(outcome, "outcome", start))
  }

  mutating func state() throws(TextFault) -> SpaceState {
    let start = cursor.index
    var revision: SpaceRevision?
    var digest: RecordDigest?
    var horizon: Int?
    var tables: [SpaceTable]?
    try object { (reading, field) throws(TextFault) in
      switch field.name {
      case "revision": try field.set(&revision, try reading.revision())
      case "digest": try field.set(&digest, try reading.digest())
      case "horizon": try field.set(&horizon, try reading.count(from: 0))
      case "tables": try field.set(&tables, try reading.tables())
      default: throw field.unknown()
      }
    }
    return SpaceState(
      head: try required(revision, "revision", start),
      digest: try required(digest, "digest", start),
      horizon: try required(horizon, "horizon", start),
      tables: try required(tables, "tables", start))
  }

  mutating func listings() throws(TextFault) -> [SpaceListing] {
    let start = cursor.index
    var listings: [SpaceListing]?
    try object { (reading, field) throws(TextFault) in
      guard field.name == "spaces" else { throw field.unknown() }
      try field.set(
        &listings,
        try reading.array(SyncLimits.maxListedSpaceCount) { (reading) throws(TextFault) in
          try reading.listing()
        })
    }
    return try required(listings, "spaces", start)
  }

  private mutating func listing() throws(TextFault) -> SpaceListing {
    let start = cursor.index
    var name: String?
    var access: SpaceListing.Access?
    try object { (reading, field) throws(TextFault) in
      switch field.name {
      case "name": try field.set(&name, try reading.cursor.string())
      case "access":
        try field.set(
          &access, try reading.text("a right") { SpaceListing.Access(rawValue: $0) })
      default: throw field.unknown()
      }
    }
    return SpaceListing(
      name: try required(name, "name", start), access: try required(access, "access", start))
  }

  mutating func event() throws(TextFault) -> SyncEvent {
    let start = cursor.index
    var from: SpaceRevision?
    var revision: SpaceRevision?
    var digest: RecordDigest?
    var changes: [SyncRecordState]?
    try object { (reading, field) throws(TextFault) in
      switch field.name {
      case "from": try field.set(&from, try reading.revision())
      case "revision": try field.set(&revision, try reading.revision())
      case "digest": try field.set(&digest, try reading.digest())
      case "changes": try field.set(&changes, try reading.states())
      default: throw field.unknown()
      }
    }
    let head = try required(revision, "revision", start)
    guard let from else {
      guard digest == nil, changes == nil else {
        throw TextFault(.malformed, "the object lacks the field \"from\"", at: start)
      }
      return .head(head)
    }
    return .commit(
      from: from,
      SyncPage(
        revision: head, digest: try required(digest, "digest", start), replica: nil,
        changes: try required(changes, "changes", start), next: nil))
  }

  mutating func tables() throws(TextFault) -> [SpaceTable] {
    try array(SyncLimits.maxTableCount) { (reading) throws(TextFault) in try reading.table() }
  }

  private mutating func table() throws(TextFault) -> SpaceTable {
    let start = cursor.index
    var name: String?
    var key: [String]?
    var columns: [String]?
    var granularity: SpaceTable.Granularity?
    try object { (reading, field) throws(TextFault) in
      switch field.name {
      case "name": try field.set(&name, try reading.cursor.string())
      case "key": try field.set(&key, try reading.names())
      case "columns": try field.set(&columns, try reading.names())
      case "granularity":
        try field.set(
          &granularity,
          try reading.text("a granularity") { SpaceTable.Granularity(rawValue: $0) })
      default: throw field.unknown()
      }
    }
    return SpaceTable(
      name: try required(name, "name", start), columns: try required(columns, "columns", start),
      keyColumns: try required(key, "key", start),
      granularity: try required(granularity, "granularity", start))
  }
}

/// The fields of an outcome or a refusal.
private struct AnswerFields {
  var outcome: String?
  private var revision: SpaceRevision?
  private var digest: RecordDigest?
  private var changes: [SyncObjection]?
  private var last: Int?
  private var fate: SpaceRevision?
  private var reason: String?
  private var code: String?
  private var message: String?
  private var retryAfter: Int?
  private var names: Set<String> = []

  mutating func read(
    _ field: MessageField, from reading: inout SyncMessageReading
  ) throws(TextFault) {
    names.insert(field.name)
    switch field.name {
    case "outcome": try field.set(&outcome, try reading.cursor.string())
    case "revision": try field.set(&revision, try reading.revision())
    case "digest": try field.set(&digest, try reading.digest())
    case "changes": try field.set(&changes, try reading.objections())
    case "last": try field.set(&last, try reading.count(from: 0))
    case "fate": try field.set(&fate, try reading.revision())
    case "reason": try field.set(&reason, try reading.cursor.string())
    case "code": try field.set(&code, try reading.cursor.string())
    case "message": try field.set(&message, try reading.cursor.string())
    case "retryAfterMilliseconds": try field.set(&retryAfter, try reading.count(from: 0))
    default: throw field.unknown()
    }
  }

  func outcome(_ start: Int) throws(TextFault) -> SyncOutcome {
    switch outcome {
    case "accepted":
      try allow(["revision", "digest"], start)
      return .accepted(
        try required(revision, "revision", start), try required(digest, "digest", start))
    case "conflict":
      try allow(["changes"], start)
      return .conflict(try required(changes, "changes", start))
    case "refused":
      try allow(["changes"], start)
      return .refused(try required(changes, "changes", start))
    case "sequence":
      try allow(["last", "fate"], start)
      return .sequence(last: try required(last, "last", start), fate: fate)
    case "gone":
      try allow(["reason"], start)
      guard let gone = SyncGone(rawValue: try required(reason, "reason", start)) else {
        throw TextFault(.malformed, "the reason is not one of \"gone\"", at: start)
      }
      return .gone(gone)
    default: throw TextFault(.malformed, "the field \"outcome\" names no outcome", at: start)
    }
  }

  func refusal(_ start: Int) throws(TextFault) -> SyncRefusal {
    try allow(["code", "message", "retryAfterMilliseconds"], start)
    return SyncRefusal(
      SyncRefusal.Code(rawValue: try required(code, "code", start)),
      try required(message, "message", start), retryAfter: retryAfter.map { .milliseconds($0) })
  }

  /// Throws if there are fields of another answer.
  private func allow(_ allowed: Set<String>, _ start: Int) throws(TextFault) {
    if let name = names.subtracting(allowed).subtracting(["outcome"]).min() {
      throw TextFault(.malformed, "the answer may not have the field \"\(name)\"", at: start)
    }
  }
}

// MARK: - Parts of messages

extension SyncMessageReading {
  private mutating func change() throws(TextFault) -> SyncChange {
    let start = cursor.index
    var key = KeyFields()
    var verb: SyncChange.Verb?
    try object { (reading, field) throws(TextFault) in
      switch field.name {
      case "insert": try field.set(&verb, .insert(try reading.record()))
      case "update": try field.set(&verb, .update(try reading.record()))
      case "add": try field.set(&verb, .add(try reading.addends()))
      case "delete":
        try reading.literalTrue()
        try field.set(&verb, .delete)
      default: try key.read(field, from: &reading)
      }
    }
    try checkRecordLength(from: start)
    return SyncChange(
      key: try key.key(start),
      verb: try required(verb, "insert\", \"update\", \"add\" or \"delete", start))
  }

  fileprivate mutating func states() throws(TextFault) -> [SyncRecordState] {
    try array(limits.maxPageChangeCount) { (reading) throws(TextFault) in
      try reading.recordState()
    }
  }

  fileprivate mutating func recordState() throws(TextFault) -> SyncRecordState {
    let start = cursor.index
    var key = KeyFields()
    var version: Int?
    var fields: Record??
    try object { (reading, field) throws(TextFault) in
      switch field.name {
      case "version": try field.set(&version, try reading.count(from: 0))
      case "fields": try field.set(&fields, try reading.record())
      case "deleted":
        try reading.literalTrue()
        try field.set(&fields, Optional<Record>.none)
      default: try key.read(field, from: &reading)
      }
    }
    try checkRecordLength(from: start)
    return SyncRecordState(
      key: try key.key(start), version: try required(version, "version", start),
      fields: try required(fields, "fields\" or \"deleted", start))
  }

  fileprivate mutating func objections() throws(TextFault) -> [SyncObjection] {
    try array(limits.maxCommitChangeCount) { (reading) throws(TextFault) in
      let start = reading.cursor.index
      var key = KeyFields()
      var reason: String?
      try reading.object { (reading, field) throws(TextFault) in
        switch field.name {
        case "reason": try field.set(&reason, try reading.cursor.string())
        default: try key.read(field, from: &reading)
        }
      }
      return SyncObjection(
        key: try key.key(start),
        reason: SyncObjection.Reason(rawValue: try required(reason, "reason", start)))
    }
  }

  private func checkRecordLength(from start: Int) throws(TextFault) {
    guard cursor.index - start <= limits.maxRecordByteCount else {
      throw TextFault(
        .limitExceeded, "the record has more than \(limits.maxRecordByteCount) bytes", at: start)
    }
  }

  /// Reads an object of fields with exact values.
  mutating func record() throws(TextFault) -> Record {
    let start = cursor.index
    var names: [String] = []
    var values: [FieldValue] = []
    if try cursor.openObject() {
      repeat {
        guard names.count < SyncLimits.maxColumnCount else {
          throw TextFault(
            .limitExceeded, "the record has more than \(SyncLimits.maxColumnCount) fields",
            at: cursor.index)
        }
        names.append(try cursor.fieldName())
        values.append(try cursor.exactValue())
      } while try cursor.hasNextField()
    }
    return Record(uncheckedLayout: try layout(names, start), values: values)
  }

  private mutating func layout(_ names: [String], _ start: Int) throws(TextFault) -> RecordLayout {
    let isSame =
      lastLayout.names.count == names.count
      && zip(lastLayout.names, names).allSatisfy { UTF8Order.areEqual($0, $1) }
    if isSame { return lastLayout }
    guard let layout = RecordLayout(names) else {
      throw TextFault(.duplicateField, "the record names a field twice", at: start)
    }
    lastLayout = layout
    return layout
  }

  private mutating func addends() throws(TextFault) -> Record {
    let start = cursor.index
    let record = try record()
    for value in record.values {
      guard case .integer = value else {
        throw TextFault(.malformed, "only integers can be added", at: start)
      }
    }
    return record
  }

  mutating func id() throws(TextFault) -> [FieldValue] {
    try array(SyncLimits.maxColumnCount) { (reading) throws(TextFault) in
      try reading.cursor.exactValue()
    }
  }

  fileprivate mutating func names() throws(TextFault) -> [String] {
    try array(SyncLimits.maxColumnCount) { (reading) throws(TextFault) in
      try reading.cursor.string()
    }
  }
}

/// The fields `table` and `id`.
private struct KeyFields {
  private var table: String?
  private var id: [FieldValue]?

  mutating func read(
    _ field: MessageField, from reading: inout SyncMessageReading
  ) throws(TextFault) {
    switch field.name {
    case "table": try field.set(&table, try reading.cursor.string())
    case "id": try field.set(&id, try reading.id())
    default: throw field.unknown()
    }
  }

  func key(_ start: Int) throws(TextFault) -> SyncKey {
    SyncKey(table: try required(table, "table", start), id: try required(id, "id", start))
  }
}

// MARK: - JSON

/// A field of a message whose value is being read.
private struct MessageField {
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

  func unknown() -> TextFault {
    TextFault(
      .malformed, "this version does not know the field \(FieldValue.text(name)) here", at: start)
  }
}

/// The value of a field that a message must have.
private func required<Value>(
  _ value: Value?, _ name: String, _ start: Int
) throws(TextFault) -> Value {
  guard let value else {
    throw TextFault(.malformed, "the object lacks the field \"\(name)\"", at: start)
  }
  return value
}

extension SyncMessageReading {
  /// Reads an object; `body` reads the value of each field.
  fileprivate mutating func object(
    _ body: (inout SyncMessageReading, MessageField) throws(TextFault) -> Void
  ) throws(TextFault) {
    guard try cursor.openObject() else { return }
    repeat {
      let start = cursor.index
      try body(&self, MessageField(name: try cursor.fieldName(), start: start))
    } while try cursor.hasNextField()
  }

  /// Reads an array of at most `maxCount` elements, each of which `body` reads.
  fileprivate mutating func array<Element>(
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
  fileprivate mutating func text<Value>(
    _ name: StaticString, _ convert: (String) -> Value?
  ) throws(TextFault) -> Value {
    let start = cursor.index
    guard let value = convert(try cursor.string()) else {
      throw TextFault(.malformed, "the text is not \(name)", at: start)
    }
    return value
  }

  fileprivate mutating func token() throws(TextFault) -> SyncToken {
    try text("a token of 32 hexadecimal digits") { SyncToken($0) }
  }

  fileprivate mutating func revision() throws(TextFault) -> SpaceRevision {
    try text("a revision") { SpaceRevision($0) }
  }

  fileprivate mutating func digest() throws(TextFault) -> RecordDigest {
    try text("a digest of 32 hexadecimal digits") { RecordDigest($0) }
  }

  fileprivate mutating func count(from least: Int) throws(TextFault) -> Int {
    let start = cursor.index
    let count = try cursor.integer()
    guard count >= least else {
      throw TextFault(.malformed, "the number is less than \(least)", at: start)
    }
    return count
  }

  fileprivate mutating func literalTrue() throws(TextFault) {
    let start = cursor.index
    guard case .bool(true) = try cursor.value() as JSONValue else {
      throw TextFault(.malformed, "expected true", at: start)
    }
  }
}
