package import TandemRecords

/// Reads the event stream of a space as it arrives: `text/event-stream` of the HTML standard (section
/// 9.2.6).
///
/// An event whose name this version does not know is a ``SyncEvent/head(_:)`` at the revision in its
/// `id`. Comments, such as heartbeats, and other fields are skipped.
package struct EventStreamReader {
  private let reader: SyncMessageReader
  private let maxByteCount = SyncLimits.maxEventByteCount
  /// The bytes of the line that is not complete.
  private var line: [UInt8] = []
  /// True if the last byte was a carriage return, which a line feed may follow.
  private var endsInReturn = false
  private var name = ""
  private var id = ""
  private var data: [UInt8] = []

  /// A reader that accepts events of the given limits.
  package init(limits: SyncLimits = SyncLimits()) {
    reader = SyncMessageReader(limits: limits)
  }

  /// Takes the next bytes of the stream; returns the events that are complete with them.
  ///
  /// - Throws: A fault if an event cannot be read. The reader is of no use then.
  package mutating func events(adding bytes: [UInt8]) throws(TextFault) -> [SyncEvent] {
    var events: [SyncEvent] = []
    var rest = bytes[...]
    if endsInReturn, rest.first == UInt8(ascii: "\n") { rest = rest.dropFirst() }
    if !bytes.isEmpty { endsInReturn = false }
    while let end = rest.firstIndex(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") })
    {
      try append(rest[..<end])
      if let event = try endLine() { events.append(event) }
      let isReturn = rest[end] == UInt8(ascii: "\r")
      rest = rest[(end + 1)...]
      if isReturn {
        endsInReturn = rest.isEmpty
        if rest.first == UInt8(ascii: "\n") { rest = rest.dropFirst() }
      }
    }
    try append(rest)
    return events
  }

  private mutating func append(_ bytes: ArraySlice<UInt8>) throws(TextFault) {
    guard bytes.count <= maxByteCount - line.count - data.count else {
      throw TextFault(
        .limitExceeded, "the event has more than \(maxByteCount) bytes", at: maxByteCount)
    }
    line += bytes
  }

  /// Takes the line that is complete; returns the event if it ends one.
  private mutating func endLine() throws(TextFault) -> SyncEvent? {
    defer { line.removeAll(keepingCapacity: true) }
    guard !line.isEmpty else { return try endEvent() }
    let colon = line.firstIndex(of: UInt8(ascii: ":"))
    var value = colon.map { line[($0 + 1)...] } ?? []
    if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
    switch String(decoding: line[..<(colon ?? line.endIndex)], as: UTF8.self) {
    case "event": name = String(decoding: value, as: UTF8.self)
    case "id": id = String(decoding: value, as: UTF8.self)
    case "data":
      if !data.isEmpty { data.append(UInt8(ascii: "\n")) }
      data += value
    default: break
    }
    return nil
  }

  private mutating func endEvent() throws(TextFault) -> SyncEvent? {
    defer {
      name = ""
      data.removeAll(keepingCapacity: true)
    }
    guard !data.isEmpty else { return nil }
    switch name {
    case "commit", "head": return try reader.event(data)
    default:
      guard let revision = SpaceRevision(id) else {
        throw TextFault(.malformed, "the event \(name) has no revision as its id", at: 0)
      }
      return .head(revision)
    }
  }
}
