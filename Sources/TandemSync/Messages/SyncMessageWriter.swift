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
  package static func bytes(_ refusal: SyncRequestError) -> [UInt8] {
    message { $0.write(refusal) }
  }

  /// The message of a page.
  package static func bytes(_ page: SyncPage) -> [UInt8] { message { $0.write(page) } }

  /// The message that declares tables.
  package static func bytes(_ tables: [SpaceTable]) -> [UInt8] { message { $0.write(tables) } }

  /// The form of a constraint in a declaration.
  package static func bytes(_ constraint: SpaceConstraint) -> [UInt8] {
    message { $0.write(constraint) }
  }

  /// The form of the definitions of a table's columns in a declaration.
  package static func bytes(_ definitions: [SpaceColumn]) -> [UInt8] {
    message { $0.write(definitions) }
  }

  /// The message of the state of a space.
  package static func bytes(_ state: SpaceState) -> [UInt8] { message { $0.write(state) } }

  /// The message that lists spaces.
  package static func bytes(_ listings: [SpaceListing]) -> [UInt8] {
    message { json in json.object { $0.field("spaces", listings) } }
  }

  /// The data of an event.
  package static func bytes(_ event: SyncEvent) -> [UInt8] { message { $0.write(event) } }

  /// An event as `text/event-stream` has it: its name, its data, and an empty line. The data has the
  /// revision, and no line break, because JSON escapes it.
  package static func streamBytes(_ event: SyncEvent) -> [UInt8] {
    var bytes = Array("event:\(event.name)\ndata:".utf8)
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
