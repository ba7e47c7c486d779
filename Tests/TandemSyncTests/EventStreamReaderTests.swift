import TandemRecords
import TandemSync
import Testing

@Suite struct EventStreamReaderTests {
  private static func revision(_ version: Int) -> SpaceRevision {
    SpaceRevision(epoch: SyncToken(bits: 7), version: version, mark: 9)
  }

  private let commit = SyncEvent.commit(
    from: Self.revision(1),
    SyncPage(
      revision: Self.revision(2), digest: RecordDigest(bits: 3), replica: nil,
      changes: [
        SyncRecordState(
          key: SyncKey(table: "note", id: [.text("n1")]), version: 2,
          fields: Record([("title", .text("a\nb"))]))
      ], next: nil))

  @Test("Events are read, however the stream is cut and whichever line ends it has")
  func cuts() throws {
    let events = [commit, .head(Self.revision(3)), commit]
    let stream =
      Array(": hello\n\n".utf8)
      + events.flatMap { SyncMessageWriter.streamBytes($0) + Array(":\n".utf8) }
    for lineEnd in ["\n", "\r", "\r\n"] {
      let bytes = stream.flatMap { $0 == UInt8(ascii: "\n") ? Array(lineEnd.utf8) : [$0] }
      for count in [1, 2, 3, 7, 64, bytes.count] {
        var reader = EventStreamReader()
        var read: [SyncEvent] = []
        for start in stride(from: 0, to: bytes.count, by: count) {
          read += try reader.events(adding: Array(bytes[start..<min(start + count, bytes.count)]))
          read += try reader.events(adding: [])
        }
        #expect(read == events, "\(count) bytes at a time, ended by \(Array(lineEnd.utf8))")
      }
    }
  }

  @Test("An event of a later version tells the revision, and its fields are skipped")
  func unknownEvent() throws {
    var reader = EventStreamReader()
    let text =
      "retry: 5\nevent: later\nid: \(Self.revision(4))\ndata: {\"new\":1}\ndata: x\nfield\n\n"
    #expect(try reader.events(adding: Array(text.utf8)) == [.head(Self.revision(4))])
  }

  @Test("An event without data is none")
  func noData() throws {
    var reader = EventStreamReader()
    #expect(try reader.events(adding: Array("event: head\nid: x\n\n\n".utf8)) == [])
  }

  @Test(
    "Bytes that are no event are a fault",
    arguments: [
      "event: head\ndata: {\n\n", "event: commit\ndata: {\"from\":1}\n\n", "data: {}\n\n",
      "event: later\nid: 5\ndata: x\n\n",
    ])
  func faults(text: String) {
    #expect(throws: TextFault.self) {
      var reader = EventStreamReader()
      _ = try reader.events(adding: Array(text.utf8))
    }
  }

  @Test("An event that exceeds the limits is a fault before all of it is kept")
  func limit() {
    var reader = EventStreamReader()
    var count = 0
    #expect(throws: TextFault.self) {
      while count < 1 << 20 {
        _ = try reader.events(adding: Array("data: 0123456789\n".utf8))
        count += 11
      }
    }
    #expect(count <= SyncLimits.maxEventByteCount)
  }
}
