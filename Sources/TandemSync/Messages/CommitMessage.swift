package import TandemRecords

extension SyncMessageReading {
  /// Reads a commit.
  mutating func commit() throws(TextFault) -> SyncCommit {
    let start = cursor.index
    var replica: SyncToken?
    var sequence: Int?
    var id: SyncToken?
    var base: SpaceRevision?
    var part: Int?
    var of: Int?
    var changes: [SyncChange]?
    var overruled: [SyncRecordState]?
    try object { (reading, field) throws(TextFault) in
      switch field.name {
      case "replica": try field.set(&replica, try reading.token())
      case "sequence": try field.set(&sequence, try reading.count(from: 1))
      case "commit": try field.set(&id, try reading.token())
      case "base": try field.set(&base, try reading.revision())
      case "part": try field.set(&part, try reading.count(from: 1))
      case "of": try field.set(&of, try reading.count(from: 1))
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
    guard part ?? 1 <= of ?? 1, of ?? 1 <= SyncLimits.maxPartCount else {
      throw TextFault(
        .malformed,
        "the part is beyond the last one, or there are more than \(SyncLimits.maxPartCount)",
        at: start)
    }
    return SyncCommit(
      replica: try required(replica, "replica", start),
      sequence: try required(sequence, "sequence", start), id: try required(id, "commit", start),
      base: try required(base, "base", start), part: part ?? 1, of: of ?? 1,
      changes: try required(changes, "changes", start), overruled: overruled ?? [])
  }

  /// Reads what identifies a commit, without its changes.
  mutating func commitIdentity() throws(TextFault) -> SyncCommitIdentity {
    let start = cursor.index
    var replica: SyncToken?
    var sequence: Int?
    var id: SyncToken?
    try object { (reading, field) throws(TextFault) in
      switch field.name {
      case "replica": try field.set(&replica, try reading.token())
      case "sequence": try field.set(&sequence, try reading.count(from: 1))
      case "commit": try field.set(&id, try reading.token())
      default: try reading.cursor.skipValue()
      }
    }
    return SyncCommitIdentity(
      replica: try required(replica, "replica", start),
      sequence: try required(sequence, "sequence", start), id: try required(id, "commit", start))
  }

  private mutating func change() throws(TextFault) -> SyncChange {
    let start = cursor.index
    var key = KeyFields()
    var verb: SyncChange.Verb?
    var claims: [String: [FieldValue]]?
    var revives: Bool?
    try object { (reading, field) throws(TextFault) in
      switch field.name {
      case "insert": try field.set(&verb, .insert(try reading.record()))
      case "update": try field.set(&verb, .update(try reading.record()))
      case "add": try field.set(&verb, .add(try reading.addends()))
      case "delete":
        try reading.literalTrue()
        try field.set(&verb, .delete)
      case "claims": try field.set(&claims, try reading.claims())
      case "revives":
        try reading.literalTrue()
        try field.set(&revives, true)
      default: try key.read(field, from: &reading)
      }
    }
    try checkRecordLength(from: start)
    return SyncChange(
      key: try key.key(start),
      verb: try required(verb, "insert\", \"update\", \"add\" or \"delete", start),
      claims: claims ?? [:], revives: revives ?? false)
  }

  /// Reads the values of a record in unique indexes.
  private mutating func claims() throws(TextFault) -> [String: [FieldValue]] {
    var claims: [String: [FieldValue]] = [:]
    try object { (reading, field) throws(TextFault) in
      guard claims.count < SyncLimits.maxConstraintCount else {
        throw TextFault(
          .limitExceeded, "the change states more than \(SyncLimits.maxConstraintCount) values",
          at: field.start)
      }
      try field.set(&claims[field.name], try reading.id())
    }
    return claims
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
}

// MARK: - Writing

extension SyncCommit: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      writeIdentity(to: &json)
      json.field("changes", changes)
      if !overruled.isEmpty { json.field("overruled", overruled) }
    }
  }

  /// Writes the fields before the changes into the object that is open.
  fileprivate func writeIdentity(to json: inout JSONWriter) {
    json.field("replica", replica)
    json.field("sequence", sequence)
    json.field("commit", id)
    json.field("base", base)
    guard of > 1 else { return }
    json.field("part", part)
    json.field("of", of)
  }
}

extension SyncMessageWriter {
  /// The message of a commit whose changes and overruled versions have been written already, each as
  /// the elements of an array with commas between them. Those of `commit` are left out.
  package static func bytes(
    _ commit: SyncCommit, changes: [UInt8], overruled: [UInt8]
  ) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      commit.writeIdentity(to: &json)
      json.field("changes") { json in json.array(ofWritten: changes) }
      if !overruled.isEmpty { json.field("overruled") { $0.array(ofWritten: overruled) } }
    }
    return json.bytes
  }
}

extension SyncChange: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      key.writeFields(to: &json)
      switch verb {
      case .insert(let fields): json.field("insert", fields)
      case .update(let fields): json.field("update", fields)
      case .add(let fields): json.field("add", fields)
      case .delete: json.field("delete", true)
      }
      if revives { json.field("revives", true) }
      guard !claims.isEmpty else { return }
      json.field("claims") { json in
        json.object { json in
          for (sql, values) in claims.sorted(by: { UTF8Order.precedes($0.key, $1.key) }) {
            json.field(sql, values)
          }
        }
      }
    }
  }
}
