import TandemDifferences
import TandemHTTP
import TandemSync
import TestHTTPServer
import Testing

@testable import Tandem

/// A JSON array at an address with entity tags, which other programs use too.
@Suite("Plain collections on servers", .timeLimit(.minutes(20)))
struct HTTPCollectionTests {
  private let store = DocumentStore()

  private func synchronizer(
    _ server: MisbehavingServer
  ) throws -> Synchronizer<SharedNote, Int> {
    var synchronizer = Synchronizer(
      remote: HTTPRemote<SharedNote>(collection: server.url, client: try SystemHTTPClient()),
      identifiedBy: \.id, policy: .keepRemote, epochPolicy: .union)
    synchronizer.pause = { _ in }
    return synchronizer
  }

  private var text: String? { store.bytes.map { String(decoding: $0, as: UTF8.self) } }

  @Test("a collection is created, read and replaced on condition, as an array of records")
  func array() async throws {
    try await withServer(store.answer) { server in
      let synchronizer = try synchronizer(server)
      var (notes, shadow) = ([SharedNote(id: 1, text: "Milk")], RemoteShadow<SharedNote>())
      try await synchronizer.synchronize(client: &notes, shadow: &shadow)
      #expect(text == #"[{"id":1,"text":"Milk"}]"#)
      store.replace(#"[{"id":2,"text":"Bread"},{"id":1,"text":"Milk"}]"#)
      notes[0].text = "Oat milk"
      try await synchronizer.synchronize(client: &notes, shadow: &shadow)
      #expect(Set(notes.map(\.text)) == ["Oat milk", "Bread"])
      let conditions = server.requests.filter { $0.method == "PUT" }.map {
        $0.fields["If-None-Match"] ?? $0.fields["If-Match"] ?? "none"
      }
      // A write that must fail, the creation, a push over an old version, and one over the new one.
      #expect(conditions.dropFirst() == ["*", "\"1\"", "\"2\""])
      #expect(try await synchronizer.synchronize(client: &notes, shadow: &shadow).roundCount == 1)
    }
  }

  @Test("fields that the type does not declare are kept, in records that change and in others")
  func undeclaredFields() async throws {
    store.replace(
      #"[{"id":1,"text":"Milk","owner":"Ann"},{"id":2,"text":"Bread","tags":["a"]},{"id":3,"text":"Jam"}]"#
    )
    try await withServer(store.answer) { server in
      let synchronizer = try synchronizer(server)
      var (notes, shadow) = ([SharedNote](), RemoteShadow<SharedNote>())
      try await synchronizer.synchronize(client: &notes, shadow: &shadow)
      notes[0].text = "Oat milk"
      notes.removeLast()
      notes.append(SharedNote(id: 4, text: "Salt"))
      try await synchronizer.synchronize(client: &notes, shadow: &shadow)
      #expect(
        try CollectionBody(store.bytes ?? [], from: "").values
          == CollectionBody(
            Array(
              #"""
              [{"id":1,"text":"Oat milk","owner":"Ann"},{"id":2,"text":"Bread","tags":["a"]},
              {"id":4,"text":"Salt"}]
              """#.utf8), from: ""
          ).values)
    }
  }

  @Test("undeclared fields of values inside a record are kept, and a field set to nil is removed")
  func nestedFields() throws {
    struct Part: Codable, Equatable { var a: Int }
    struct Whole: Codable, Equatable {
      var id: Int
      var part: Part?
      var other: Part?
    }
    func body(_ text: String) throws -> CollectionBody {
      try CollectionBody(Array(text.utf8), from: "")
    }
    let former = try body(
      #"[{"id":1,"part":{"a":1,"b":1.10},"other":{"a":1,"c":[null]},"big":12345678901234567890}]"#)
    let old: [Whole] = try former.records(from: "")
    for (change, expected) in [
      (
        Whole(id: 1, part: Part(a: 2), other: Part(a: 1)),
        #"[{"id":1,"part":{"a":2,"b":1.10},"other":{"a":1,"c":[null]},"big":12345678901234567890}]"#
      ),
      (
        Whole(id: 1, part: nil, other: Part(a: 1)),
        #"[{"id":1,"other":{"a":1,"c":[null]},"big":12345678901234567890}]"#
      ),
    ] {
      var new = try CollectionBody(encoding: [change], for: "")
      try new.keepUndeclaredFields(
        of: former, records: old, updates: [.init(old: old[0], new: change)], place: "")
      #expect(try new.values == body(expected).values)
    }
  }

  @Test(
    "after a lost reply, a newer edit is pushed, whether or not others changed the collection",
    arguments: [false, true], [false, true])
  func lostReply(othersPush: Bool, isCreation: Bool) async throws {
    try await withServer(store.answer) { server in
      let synchronizer = try synchronizer(server)
      var (notes, shadow) = ([SharedNote(id: 1, text: "Milk")], RemoteShadow<SharedNote>())
      if !isCreation {
        try await synchronizer.synchronize(client: &notes, shadow: &shadow)
        notes[0].text = "Oat milk"
      }
      store.losesRepliesOfWrites = true
      await #expect(throws: TransportError.self) {
        try await synchronizer.synchronize(client: &notes, shadow: &shadow)
      }
      store.losesRepliesOfWrites = false
      #expect(text?.contains(notes[0].text) == true)
      if othersPush {
        store.replace(#"[{"id":1,"text":"\#(notes[0].text)"},{"id":2,"text":"Bread"}]"#)
      }
      notes[0].text = "Soy milk"
      let report = try await synchronizer.synchronize(client: &notes, shadow: &shadow)
      #expect(report.conflicts.isEmpty)
      #expect(notes.map(\.text).sorted() == (othersPush ? ["Bread", "Soy milk"] : ["Soy milk"]))
      #expect(text?.contains("Soy milk") == true && text?.contains("Oat") == false)
    }
  }

  @Test("a record that was deleted after a lost reply stays deleted")
  func deletionAfterLostReply() async throws {
    try await withServer(store.answer) { server in
      let synchronizer = try synchronizer(server)
      var (notes, shadow) = ([SharedNote(id: 1, text: "Milk")], RemoteShadow<SharedNote>())
      try await synchronizer.synchronize(client: &notes, shadow: &shadow)
      notes.append(SharedNote(id: 2, text: "Bread"))
      store.losesRepliesOfWrites = true
      await #expect(throws: TransportError.self) {
        try await synchronizer.synchronize(client: &notes, shadow: &shadow)
      }
      store.losesRepliesOfWrites = false
      store.replace(
        #"[{"id":1,"text":"Milk"},{"id":2,"text":"Bread"},{"id":3,"text":"Jam"}]"#)
      notes.removeLast()
      try await synchronizer.synchronize(client: &notes, shadow: &shadow)
      #expect(notes.map(\.text) == ["Milk", "Jam"])
      #expect(text?.contains("Bread") == false)
    }
  }

  @Test("a server that answers a write without an entity tag is asked for it")
  func writesWithoutTags() async throws {
    store.omitsTagsOfWrites = true
    try await withServer(store.answer) { server in
      let synchronizer = try synchronizer(server)
      var (notes, shadow) = ([SharedNote(id: 1, text: "Milk")], RemoteShadow<SharedNote>())
      try await synchronizer.synchronize(client: &notes, shadow: &shadow)
      notes[0].text = "Oat milk"
      let report = try await synchronizer.synchronize(client: &notes, shadow: &shadow)
      #expect(report.roundCount == 1 && report.revision?.commit == "\"2\"")
    }
  }

  @Test(
    "what is no array of the records is an error, and stays",
    arguments: ["{}", "", #"{"data":[]}"#, #"[{"id":"x","text":"a"}]"#, "[1]"])
  func malformed(body: String) async throws {
    store.replace(body)
    try await withServer(store.answer) { server in
      let remote = HTTPRemote<SharedNote>(collection: server.url, client: try SystemHTTPClient())
      let pulling = await #expect(throws: RemoteError.self) { try await remote.pull() }
      #expect(pulling?.code == .malformed)
      let pushing = await #expect(throws: RemoteError.self) {
        try await remote.push([], difference: SetDifference(), at: nil, token: "a")
      }
      #expect(pushing?.code == .malformed && text == body)
      let restarting = await #expect(throws: RemoteError.self) {
        try await remote.restartHistory()
      }
      #expect(restarting != nil)
    }
  }
}
