package import TandemRecords

/// Writes the messages of synchronization as JSON (RFC 8259) in UTF-8.
///
/// Equal messages have equal bytes: fields come in a fixed order, those of records in the order of
/// their layout. Values keep SQLite's five types exactly, in the forms of ``JSONWriter``.
package enum SyncMessageWriter {
  /// The message of a commit.
  package static func bytes(_ commit: SyncCommit) -> [UInt8] { message { $0.write(commit) } }

  /// The message of an outcome.
  package static func bytes(_ outcome: SyncOutcome) -> [UInt8] { message { $0.write(outcome) } }

  /// The message of a refusal.
  package static func bytes(_ refusal: SyncRefusal) -> [UInt8] { message { $0.write(refusal) } }

  /// The message of a page.
  package static func bytes(_ page: SyncPage) -> [UInt8] { message { $0.write(page) } }

  /// The message that declares tables.
  package static func bytes(_ tables: [SpaceTable]) -> [UInt8] { message { $0.write(tables) } }

  /// The message of the state of a space.
  package static func bytes(_ state: SpaceState) -> [UInt8] { message { $0.write(state) } }

  /// The message that lists spaces.
  package static func bytes(_ listings: [SpaceListing]) -> [UInt8] {
    message { json in json.object { $0.field("spaces", listings) } }
  }

  /// The data of an event.
  package static func bytes(_ event: SyncEvent) -> [UInt8] { message { $0.write(event) } }

  /// An event as `text/event-stream` has it: its name, its revision as its id, its data, and an empty
  /// line. The data has no line break, because JSON escapes it.
  package static func streamBytes(_ event: SyncEvent) -> [UInt8] {
    var bytes = Array("event: \(event.name)\nid: \(event.revision)\ndata: ".utf8)
    bytes.appendJSON { $0.write(event) }
    bytes += [UInt8(ascii: "\n"), UInt8(ascii: "\n")]
    return bytes
  }

  /// The values of a key.
  package static func bytes(id: [FieldValue]) -> [UInt8] { message { $0.write(id) } }

  /// The fields of a record.
  package static func bytes(fields: Record) -> [UInt8] { message { $0.write(fields) } }

  private static func message(_ body: (inout JSONWriter) -> Void) -> [UInt8] {
    var json = JSONWriter()
    body(&json)
    return json.bytes
  }
}

extension SyncToken: JSONWritable {
  package func write(to json: inout JSONWriter) { json.write(description) }
}

extension SpaceRevision: JSONWritable {
  package func write(to json: inout JSONWriter) { json.write(description) }
}

extension RecordDigest: JSONWritable {
  package func write(to json: inout JSONWriter) { json.write(description) }
}

extension SyncKey {
  /// Writes the fields `table` and `id` into the object that is open.
  fileprivate func writeFields(to json: inout JSONWriter) {
    json.field("table", table)
    json.field("id", id)
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

extension SyncCommit: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("replica", replica)
      json.field("sequence", sequence)
      json.field("commit", id)
      json.field("base", base)
      json.field("changes", changes)
      if !overruled.isEmpty { json.field("overruled", overruled) }
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
      }
    }
  }
}

extension SyncRefusal: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("outcome", "rejected")
      json.field("code", code.rawValue)
      json.field("message", message)
      if let retryAfter { json.field("retryAfterMilliseconds", retryAfter.milliseconds) }
    }
  }
}

extension SyncPage: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("revision", revision)
      json.field("digest", digest)
      if let replica { json.field("replica", replica) }
      json.field("changes", changes)
      if let next { json.field("next", next) }
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

extension SpaceState: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("revision", head)
      json.field("digest", digest)
      json.field("horizon", horizon)
      json.field("tables", tables)
    }
  }
}

extension SpaceListing: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("name", name)
      json.field("access", access.rawValue)
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

extension SpaceTable: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("name", name)
      json.field("key", keyColumns)
      json.field("columns", columns)
      json.field("granularity", granularity.rawValue)
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
