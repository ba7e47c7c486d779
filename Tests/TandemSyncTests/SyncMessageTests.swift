import TandemRecords
import TandemSync
import TestRandom
import Testing

@Suite struct SyncMessageTests {
  @Test("Reading a written message gives the same message, for messages of many seeds")
  func roundTrip() throws {
    for seed in 0..<400 {
      var random = MessageRandom(seed: seed)
      let reader = SyncMessageReader()
      let commit = random.commit()
      #expect(try reader.commit(SyncMessageWriter.bytes(commit)) == commit, "seed \(seed)")
      let outcome = random.outcome()
      let answer = try reader.answer(SyncMessageWriter.bytes(outcome))
      #expect(answer == .success(outcome), "seed \(seed)")
      let refusal = random.refusal()
      let rejection = try reader.answer(SyncMessageWriter.bytes(refusal))
      #expect(rejection == .failure(refusal), "seed \(seed)")
      let page = random.page()
      #expect(try reader.page(SyncMessageWriter.bytes(page)) == page, "seed \(seed)")
      let event = random.event()
      #expect(try reader.event(SyncMessageWriter.bytes(event)) == event, "seed \(seed)")
      let state = random.spaceState()
      #expect(try reader.state(SyncMessageWriter.bytes(state)) == state, "seed \(seed)")
      // Equality of records is that of SQLite; the bytes also show the types of values.
      for (bytes, kind) in random.messages() {
        #expect(try rewritten(bytes, kind) == bytes, "seed \(seed), \(kind)")
      }
    }
  }

  @Test("A commit that is written change by change has the bytes of one that is written whole")
  func parts() {
    for seed in 0..<100 {
      var random = MessageRandom(seed: seed)
      let commit = random.commit()
      var (changes, overruled) = (JSONWriter(), JSONWriter())
      for change in commit.changes {
        changes.write(change)
        // One that does not fit is taken back.
        let byteCount = changes.bytes.count
        changes.write(random.change())
        changes.remove(after: byteCount)
      }
      overruled.write(random.page())
      overruled.remove(after: 0)
      for version in commit.overruled { overruled.write(version) }
      let bytes = SyncMessageWriter.bytes(
        commit, changes: changes.bytes, overruled: overruled.bytes)
      #expect(bytes == SyncMessageWriter.bytes(commit), "seed \(seed)")
    }
  }

  @Test(
    "A record gets the layout that is expected if it has these fields in this order, else its own")
  func expectedLayout() throws {
    let reader = SyncMessageReader()
    let layouts: [[String]] = [[], ["a"], ["b"], ["a", "b"], ["b", "a"], ["a", "b", "c"]]
    for expected in layouts.compactMap({ RecordLayout($0) }) {
      for names in layouts {
        let fields = names.map { "\"\($0)\":\"\($0)\"" }.joined(separator: ",")
        let record = try reader.fields(Array("{\(fields)}".utf8), expecting: expected)
        #expect(record.layout.names == names)
        #expect(record.values == names.map { .text($0) })
        #expect((record.layout === expected) == (names == expected.names))
      }
      for text in [#"{"a":1,"a":2}"#, #"{"a":1,"b":2,"a":3}"#, #"{"b":1,"b":2}"#] {
        #expect(throws: TextFault.self) {
          try reader.fields(Array(text.utf8), expecting: expected)
        }
      }
    }
  }

  @Test("Any change of a byte gives another message or a fault inside the text, and no trap")
  func mutations() throws {
    let meaningful =
      Array("\"\\{}[],:0-e.u \n".utf8) + [0x00, 0x80, 0xC3, 0xE2, 0xF0, 0xFF]
    for seed in 0..<4 {
      var random = MessageRandom(seed: seed, size: 2)
      for (message, kind) in random.messages() {
        for offset in message.indices {
          var changed = message
          for byte in meaningful + [message[offset] ^ 1, message[offset] ^ 0x20] {
            changed[offset] = byte
            expectNoTrap(changed, kind)
          }
          changed.remove(at: offset)
          expectNoTrap(changed, kind)
          expectNoTrap(Array(message[..<offset]), kind)
        }
      }
    }
  }

  @Test(
    "Parts of messages in any order, and bytes at random, give a message or a fault, and no trap")
  func splices() throws {
    let numbers = ["9223372036854775807", "-9223372036854775808", "1e400", "9223372036854775808"]
    for seed in 0..<300 {
      var random = MessageRandom(seed: 10_000 + seed, size: 2)
      let messages = random.messages()
      for (message, kind) in messages {
        let other = messages.randomElement(using: &random.generator)?.bytes ?? []
        let ends = [message, other].map { Int.random(in: 0...$0.count, using: &random.generator) }
        expectNoTrap(Array(message[..<ends[0]] + other[ends[1]...]), kind)
        expectNoTrap(message + message, kind)
        // The greatest and the least numbers in each place that has a digit.
        for offset in message.indices where (0x30...0x39).contains(message[offset]) {
          let number = Array((numbers.randomElement(using: &random.generator) ?? "").utf8)
          expectNoTrap(Array(message[..<offset] + number + message[(offset + 1)...]), kind)
        }
        let noise = (0..<random.count() * 8).map { _ in
          UInt8.random(in: 0...255, using: &random.generator)
        }
        expectNoTrap(noise, kind)
      }
    }
  }

  /// An accepted message is written in one form, which is read as the same message.
  private func expectNoTrap(_ bytes: [UInt8], _ kind: String) {
    do {
      let written = try rewritten(bytes, kind)
      #expect(try rewritten(written, kind) == written)
    } catch let fault as TextFault {
      if !(0...bytes.count).contains(fault.offset) || fault.message.isEmpty {
        Issue.record("\(fault) is outside \(String(decoding: bytes, as: UTF8.self))")
      }
    } catch {
      Issue.record("\(error)")
    }
  }

  @Test("A message over a limit is refused while it is read")
  func limits() throws {
    let record = SyncChange(
      key: SyncKey(table: "t", id: [1]),
      verb: .insert(["text": .text(String(repeating: "x", count: 100))]))
    func message(_ changes: [SyncChange]) -> [UInt8] {
      let token = SyncToken(bits: 1)
      let base = SpaceRevision(epoch: token, version: 0, mark: 0)
      return SyncMessageWriter.bytes(
        SyncCommit(replica: token, sequence: 1, id: token, base: base, changes: changes))
    }
    let bytes = message([record, record])
    func fault(_ limits: SyncLimits) -> RecordError.Code? {
      do {
        _ = try SyncMessageReader(limits: limits).commit(bytes)
        return nil
      } catch {
        #expect(SyncRequestError(error).code == .overLimit)
        return error.code
      }
    }
    #expect(fault(SyncLimits(maxCommitByteCount: bytes.count)) == nil)
    #expect(fault(SyncLimits(maxCommitByteCount: bytes.count - 1)) == .limitExceeded)
    #expect(fault(SyncLimits(maxCommitChangeCount: 2)) == nil)
    #expect(fault(SyncLimits(maxCommitChangeCount: 1)) == .limitExceeded)
    let recordByteCount = bytes.count - message([record]).count - 1
    #expect(fault(SyncLimits(maxRecordByteCount: recordByteCount)) == nil)
    #expect(fault(SyncLimits(maxRecordByteCount: recordByteCount - 1)) == .limitExceeded)
  }

  @Test("A key that no space takes is refused while a message is read")
  func keyLength() throws {
    var random = MessageRandom(seed: 3)
    let (id, base) = (random.token(), random.revision())
    func key(_ value: FieldValue) -> SyncKey { SyncKey(table: "t", id: [value]) }
    func expect(_ key: SyncKey, isRead: Bool) {
      let commit = SyncCommit(
        replica: id, sequence: 1, id: id, base: base,
        changes: [SyncChange(key: key, verb: .delete)])
      let state = SyncRecordState(key: key, version: 1, fields: nil)
      let page = SyncPage(
        revision: base, digest: .empty, replica: nil, changes: [state], next: nil)
      let outcome = SyncOutcome.conflict([SyncObjection(key: key, reason: .missing)])
      let reader = SyncMessageReader()
      let readers: [() throws -> Void] = [
        { _ = try reader.commit(SyncMessageWriter.bytes(commit)) },
        { _ = try reader.page(SyncMessageWriter.bytes(page)) },
        { _ = try reader.answer(SyncMessageWriter.bytes(outcome)) },
      ]
      for read in readers {
        do {
          try read()
          #expect(isRead)
        } catch {
          #expect(!isRead && (error as? TextFault)?.code == .limitExceeded)
        }
      }
    }
    let count = SyncLimits.maxKeyByteCount - RecordEncoding.byteCount(of: key("")) - 2
    expect(key(.text(String(repeating: "a", count: count))), isRead: true)
    // The text of a message may be longer than what it stands for.
    expect(key(.text(String(repeating: "\u{1}", count: count))), isRead: true)
    expect(key(.text(String(repeating: "a", count: count + 1))), isRead: false)
    let reals = [FieldValue](repeating: 0.1, count: 200)
    expect(SyncKey(table: "t", id: reals), isRead: false)
  }

  @Test("A record may have as many fields as a shadow has room for, and no more")
  func columnLimit() throws {
    func bytes(_ count: Int) -> [UInt8] {
      let fields = (0..<count).map { "\"c\($0)\":\($0)" }.joined(separator: ",")
      return Array("{\(fields)}".utf8)
    }
    let reader = SyncMessageReader()
    #expect(try reader.fields(bytes(1_990)).values.count == 1_990)
    #expect(throws: TextFault.self) { try reader.fields(bytes(1_991)) }
  }

  @Test("Tokens and revisions have one text each")
  func texts() throws {
    var generator = SplitMix64(seed: 3)
    for _ in 0..<200 {
      let token = SyncToken.random(using: &generator)
      #expect(SyncToken(token.description) == token)
      let revision = SpaceRevision(
        epoch: token, version: Int.random(in: 0...SpaceRevision.maxVersion, using: &generator),
        mark: generator.next())
      #expect(SpaceRevision(revision.description) == revision)
    }
    let token = SyncToken(bits: 10)
    #expect(token.description == "0000000000000000000000000000000a")
    #expect(SyncToken("0000000000000000000000000000000A") == nil)
    #expect(SyncToken("000000000000000000000000000000a") == nil)
    #expect(SyncToken("0x00000000000000000000000000000a") == nil)
    #expect(SpaceRevision("\(token).1.0000000000000000.") == nil)
    #expect(SpaceRevision("\(token).+1.0000000000000000") == nil)
    #expect(SpaceRevision("\(token)..0000000000000000") == nil)
  }
}

@Suite struct RecordDigestTests {
  @Test("A digest depends on the set of records only, not on the order of additions and removals")
  func order() {
    var random = MessageRandom(seed: 5)
    let records = (0..<20).map { index in
      (SyncKey(table: "t", id: [.integer(Int64(index))]), random.record())
    }
    var forward = RecordDigest.empty
    for (key, fields) in records { forward.add(key, fields) }
    var mixed = RecordDigest.empty
    for (key, fields) in records.reversed() { mixed.add(key, fields) }
    mixed.remove(records[3].0, records[3].1)
    #expect(mixed != forward)
    mixed.add(records[3].0, records[3].1)
    #expect(mixed == forward)
    for (key, fields) in records { mixed.remove(key, fields) }
    #expect(mixed == .empty)
  }

  @Test("The hash of a record does not depend on the records before it")
  func hasher() {
    var random = MessageRandom(seed: 8)
    let hasher = RecordHasher()
    let records: [Record] =
      [["a": 1, "bb": 2, "b": .null], ["bb": 2, "a": 1], ["a": 1], [:]]
      + (0..<200).map { _ in random.record() }
    for fields in records + records.reversed() {
      let key = random.key()
      #expect(hasher.hash(key, fields) == RecordHasher().hash(key, fields))
    }
    let key = SyncKey(table: "t", id: [1])
    #expect(hasher.hash(key, records[0]) == hasher.hash(key, records[1]))
  }

  @Test("Two records have the same hash if SQLite stores them identically, and only then")
  func storage() {
    var random = MessageRandom(seed: 6)
    let key = SyncKey(table: "t", id: [1])
    var values = (0..<200).map { _ in random.value() }
    values += [1, 1.0, 0, 0.0, .real(-0.0), "1", .blob([0x31]), .null, .real(.nan)]
    for first in values {
      for second in values {
        let isSame = first.hasSameStorage(as: second)
        let hashes = [first, second].map { RecordHasher().hash(key, ["a": $0]) }
        if (hashes[0] == hashes[1]) != isSame { Issue.record("\(first) and \(second)") }
      }
    }
  }
}

/// Random messages.
struct MessageRandom {
  var generator: SplitMix64
  /// The maximum number of elements of each list.
  let size: Int

  init(seed: Int, size: Int = 6) {
    generator = SplitMix64(seed: seed)
    self.size = size
  }

  mutating func count(_ least: Int = 0) -> Int { Int.random(in: least...size, using: &generator) }

  mutating func token() -> SyncToken { SyncToken.random(using: &generator) }

  mutating func revision() -> SpaceRevision {
    SpaceRevision(epoch: token(), version: Int(generator.next() >> 12), mark: generator.next())
  }

  mutating func text() -> String {
    let letters = ["a", "b", "\"", "\\", "\n", "\0", "é", "e\u{301}", "🧭", " ", "\u{7F}", "/", "~"]
    return (0..<count()).map { _ in letters.randomElement(using: &generator) ?? "" }.joined()
  }

  mutating func value() -> FieldValue {
    switch Int.random(in: 0..<9, using: &generator) {
    case 0: return .null
    case 1: return .integer(Int64.random(in: -3...3, using: &generator))
    case 2: return .integer(Int64(bitPattern: generator.next()))
    case 3: return .real(Double(Int.random(in: -3...3, using: &generator)))
    case 4:
      // Not a NaN with a payload, which a message does not keep.
      let number = Double(bitPattern: generator.next())
      return .real(number.isNaN ? .nan : number)
    case 5:
      return [.real(.infinity), .real(-.infinity), .real(.nan), .real(-0.0)]
        .randomElement(using: &generator) ?? .null
    case 6: return .blob((0..<count()).map { _ in UInt8.random(in: 0...255, using: &generator) })
    default: return .text(text())
    }
  }

  mutating func record() -> Record {
    var names: Set<FieldName> = []
    var fields: [(name: String, value: FieldValue)] = []
    for _ in 0..<count() {
      let name = text()
      if names.insert(FieldName(name)).inserted { fields.append((name, value())) }
    }
    return Record(fields) ?? [:]
  }

  mutating func key() -> SyncKey {
    SyncKey(table: text(), id: (0..<count(1)).map { _ in value() })
  }

  mutating func change() -> SyncChange {
    let verb: SyncChange.Verb
    switch Int.random(in: 0..<4, using: &generator) {
    case 0: verb = .insert(record())
    case 1: verb = .update(record())
    case 2:
      let names = record().layout
      verb = .add(
        Record(
          layout: names,
          values: names.names.map { _ in .integer(Int64(bitPattern: generator.next())) }) ?? [:])
    default: verb = .delete
    }
    return SyncChange(key: key(), verb: verb)
  }

  mutating func state() -> SyncRecordState {
    SyncRecordState(
      key: key(), version: count(), fields: Bool.random(using: &generator) ? record() : nil)
  }

  mutating func commit() -> SyncCommit {
    let of = Int.random(in: 1...3, using: &generator)
    return SyncCommit(
      replica: token(), sequence: count(1), id: token(), base: revision(),
      part: Int.random(in: 1...of, using: &generator), of: of,
      changes: (0..<count()).map { _ in change() },
      overruled: (0..<count() / 3).map { _ in state() })
  }

  mutating func outcome() -> SyncOutcome {
    switch Int.random(in: 0..<6, using: &generator) {
    case 0: return .accepted(revision(), RecordDigest(bits: token().bits))
    case 1: return .conflict(objections())
    case 2: return .refused(objections())
    case 3: return .sequence(last: count(), fate: Bool.random(using: &generator) ? revision() : nil)
    case 4: return .parts(missing: (0..<count(1)).map { 3 * $0 + 1 })
    default: return .gone(SyncGone.allCases.randomElement(using: &generator) ?? .epoch)
    }
  }

  private mutating func objections() -> [SyncObjection] {
    (0..<count()).map { _ in
      SyncObjection(key: key(), reason: SyncObjection.Reason(rawValue: text()))
    }
  }

  mutating func refusal() -> SyncRequestError {
    SyncRequestError(
      SyncRequestError.Code(name: text()), text(),
      retryAfter: Bool.random(using: &generator)
        ? .milliseconds(Int.random(in: 0...100_000, using: &generator)) : nil)
  }

  mutating func tables() -> [SpaceTable] {
    (0..<count()).map { _ in
      var table = SpaceTable(
        name: text(), columns: (0..<count()).map { _ in text() },
        keyColumns: (0..<count()).map { _ in text() },
        granularity: ConflictGranularity.allCases.randomElement(using: &generator) ?? .field)
      if Bool.random(using: &generator) { table.definitions = (0..<count()).map { _ in column() } }
      return table
    }
  }

  private mutating func column() -> SpaceColumn {
    SpaceColumn(
      FieldName(text()), type: text(), isStrict: Bool.random(using: &generator),
      isRequired: Bool.random(using: &generator),
      defaultText: Bool.random(using: &generator) ? text() : nil,
      checks: (0..<count()).map { _ in text() })
  }

  mutating func spaceState() -> SpaceState {
    SpaceState(
      head: revision(), digest: RecordDigest(bits: token().bits), horizon: count(),
      tables: tables())
  }

  mutating func listings() -> [SpaceListing] {
    (0..<count()).map { _ in
      SpaceListing(
        name: text(),
        access: SpaceListing.Access.allCases.randomElement(using: &generator) ?? .read)
    }
  }

  mutating func event() -> SyncEvent {
    guard Bool.random(using: &generator) else { return .head(revision()) }
    let page = page()
    return .commit(
      from: revision(),
      SyncPage(
        revision: page.revision, digest: page.digest, replica: nil, changes: page.changes,
        next: nil))
  }

  /// One message of each kind.
  mutating func messages() -> [(bytes: [UInt8], kind: String)] {
    [
      (SyncMessageWriter.bytes(commit()), "commit"),
      (SyncMessageWriter.bytes(outcome()), "answer"),
      (SyncMessageWriter.bytes(refusal()), "answer"),
      (SyncMessageWriter.bytes(page()), "page"),
      (SyncMessageWriter.bytes(tables()), "tables"),
      (SyncMessageWriter.bytes(spaceState()), "state"),
      (SyncMessageWriter.bytes(listings()), "spaces"),
      (SyncMessageWriter.bytes(event()), "event"),
    ]
  }

  mutating func page() -> SyncPage {
    SyncPage(
      revision: revision(), digest: RecordDigest(bits: token().bits),
      replica: Bool.random(using: &generator)
        ? ReplicaStanding(sequence: count(1), commit: token(), outcome: outcome()) : nil,
      changes: (0..<count()).map { _ in state() },
      next: Bool.random(using: &generator) ? text() : nil)
  }
}
