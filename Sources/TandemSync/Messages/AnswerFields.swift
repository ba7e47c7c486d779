internal import TandemRecords

/// The fields of an outcome or a refusal.
struct AnswerFields {
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
