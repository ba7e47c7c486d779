package import TandemRecords

extension SyncMessageReading {
  /// Reads the answer to a commit: its outcome, or the refusal of the request as a whole.
  mutating func answer() throws(TextFault) -> Result<SyncOutcome, SyncRequestError> {
    let start = cursor.index
    var fields = AnswerFields()
    try object { (reading, field) throws(TextFault) in try fields.read(field, from: &reading) }
    if fields.outcome == "rejected" { return .failure(try fields.refusal(start)) }
    return .success(try fields.outcome(start))
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
}

/// The fields of an outcome or a refusal.
private struct AnswerFields {
  var outcome: String?
  private var revision: SpaceRevision?
  private var digest: RecordDigest?
  private var changes: [SyncObjection]?
  private var last: Int?
  private var fate: SpaceRevision?
  private var missing: [Int]?
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
    case "missing":
      try field.set(
        &missing,
        try reading.array(SyncLimits.maxPartCount) { (reading) throws(TextFault) in
          try reading.count(from: 1)
        })
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
    case "parts":
      try allow(["missing"], start)
      let missing = try required(missing, "missing", start)
      guard !missing.isEmpty, zip(missing, missing.dropFirst()).allSatisfy({ $0 < $1 }) else {
        throw TextFault(.malformed, "the missing parts are none, or not ascending", at: start)
      }
      return .parts(missing: missing)
    default: throw TextFault(.malformed, "the field \"outcome\" names no outcome", at: start)
    }
  }

  func refusal(_ start: Int) throws(TextFault) -> SyncRequestError {
    try allow(["code", "message", "retryAfterMilliseconds"], start)
    return SyncRequestError(
      SyncRequestError.Code(name: try required(code, "code", start)),
      try required(message, "message", start), retryAfter: retryAfter.map { .milliseconds($0) })
  }

  /// Throws if there are fields of another answer.
  private func allow(_ allowed: Set<String>, _ start: Int) throws(TextFault) {
    if let name = names.subtracting(allowed).subtracting(["outcome"]).min() {
      throw TextFault(.malformed, "the answer may not have the field \"\(name)\"", at: start)
    }
  }
}

// MARK: - Writing

extension SyncOutcome: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      switch self {
      case .accepted(let revision, let digest):
        json.field("outcome", "accepted")
        json.field("revision", revision)
        json.field("digest", digest)
      case .conflict(let objections):
        json.field("outcome", "conflict")
        json.field("changes", objections)
      case .refused(let objections):
        json.field("outcome", "refused")
        json.field("changes", objections)
      case .sequence(let last, let fate):
        json.field("outcome", "sequence")
        json.field("last", last)
        if let fate { json.field("fate", fate) }
      case .gone(let gone):
        json.field("outcome", "gone")
        json.field("reason", gone.rawValue)
      case .parts(let missing):
        json.field("outcome", "parts")
        json.field("missing", missing)
      }
    }
  }
}

extension SyncObjection: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      key.writeFields(to: &json)
      json.field("reason", reason.rawValue)
    }
  }
}

extension SyncRequestError: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("outcome", "rejected")
      json.field("code", code.name)
      json.field("message", message)
      if let retryAfter { json.field("retryAfterMilliseconds", retryAfter.milliseconds) }
    }
  }
}

extension Duration {
  /// The milliseconds, rounded up and clamped to the range of `Int`.
  fileprivate var milliseconds: Int {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
    let (sum, overflowOfSum) = product.addingReportingOverflow(
      (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    return overflow || overflowOfSum ? (seconds < 0 ? .min : .max) : Int(clamping: sum)
  }
}
