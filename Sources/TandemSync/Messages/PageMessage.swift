package import TandemRecords

extension SyncMessageReading {
  /// Reads a page.
  mutating func page() throws(TextFault) -> SyncPage {
    let start = cursor.index
    var revision: SpaceRevision?
    var digest: RecordDigest?
    var replica: ReplicaStanding?
    var changes: [SyncRecordState]?
    var next: String?
    var numbers: [FieldName: Int64]?
    try object { (reading, field) throws(TextFault) in
      switch field.name {
      case "revision": try field.set(&revision, try reading.revision())
      case "digest": try field.set(&digest, try reading.digest())
      case "replica": try field.set(&replica, try reading.standing())
      case "changes": try field.set(&changes, try reading.states())
      case "next": try field.set(&next, try reading.cursor.string())
      case "numbers": try field.set(&numbers, try reading.numbers())
      default: throw field.unknown()
      }
    }
    return SyncPage(
      revision: try required(revision, "revision", start),
      digest: try required(digest, "digest", start), replica: replica,
      changes: try required(changes, "changes", start), next: next, numbers: numbers)
  }

  /// Reads a number for each of some tables.
  private mutating func numbers() throws(TextFault) -> [FieldName: Int64] {
    let start = cursor.index
    var numbers: [FieldName: Int64] = [:]
    let record = try record()
    for (name, value) in zip(record.layout.names, record.values) {
      guard case .integer(let number) = value else {
        throw TextFault(.malformed, "the number of a table is no integer", at: start)
      }
      numbers[FieldName(name)] = number
    }
    return numbers
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

  /// Reads the data of an event, which is a page with the revision before it, or a head.
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

  /// Reads the states of the records of a page.
  mutating func states() throws(TextFault) -> [SyncRecordState] {
    try array(limits.maxPageChangeCount) { (reading) throws(TextFault) in
      try reading.recordState()
    }
  }

  /// Reads the state of a record.
  mutating func recordState() throws(TextFault) -> SyncRecordState {
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
}

// MARK: - Writing

extension SyncPage: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("revision", revision)
      json.field("digest", digest)
      if let replica { json.field("replica", replica) }
      json.field("changes", changes)
      if let next { json.field("next", next) }
      guard let numbers else { return }
      json.field("numbers") { json in
        json.object { json in
          for (name, number) in numbers.sorted(by: {
            UTF8Order.precedes($0.key.text, $1.key.text)
          }) {
            json.field(name.text, FieldValue.integer(number))
          }
        }
      }
    }
  }
}

extension ReplicaStanding: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("sequence", sequence)
      json.field("commit", commit)
      json.field("outcome", outcome)
    }
  }
}

extension SyncEvent: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      switch self {
      case .commit(let from, let page):
        json.field("from", from)
        json.field("revision", page.revision)
        json.field("digest", page.digest)
        json.field("changes", page.changes)
      case .head(let revision): json.field("revision", revision)
      }
    }
  }
}

extension SyncRecordState {
  /// A length that no message of the state of a record exceeds, whatever its version is. Takes less
  /// time than writing the message.
  package static func maxByteCount(key: SyncKey, fields: Record) -> Int {
    let values = key.id + fields.values
    let names = fields.layout.names.reduce(key.table.utf8.count) { $0 + $1.utf8.count }
    let punctuationByteCount = 128 + 4 * values.count
    return values.reduce(punctuationByteCount + JSONWriter.maxByteCountPerByte * names) {
      $0 + $1.maxMessageByteCount
    }
  }
}

extension FieldValue {
  /// A length that the value never exceeds in a message.
  fileprivate var maxMessageByteCount: Int {
    switch self {
    case .null, .integer, .real: 32
    case .text(let text): JSONWriter.maxByteCountPerByte * text.utf8.count + 2
    case .blob(let bytes): bytes.count / 3 * 4 + 32
    }
  }
}

extension SyncRecordState: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      key.writeFields(to: &json)
      json.field("version", version)
      if let fields { json.field("fields", fields) } else { json.field("deleted", true) }
    }
  }
}
