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

  mutating func objections() throws(TextFault) -> [SyncObjection] {
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
