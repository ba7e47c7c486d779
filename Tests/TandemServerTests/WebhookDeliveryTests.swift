import Synchronization
import TandemDigests
import TandemPostgreSQL
import TandemRecords
import TandemSpace
import TandemSync
import TestFolder
import TestPostgreSQL
import Testing

@testable import TandemServer

@Suite("Deliveries to a webhook", .timeLimit(.minutes(20))) struct WebhookDeliveryTests {
  enum Store: CaseIterable { case directory, postgreSQL }

  /// A delivery as the receiver got it.
  private struct Delivery: Sendable {
    let body: JSONValue
    let request: Webhook.Request

    init(_ request: Webhook.Request) throws {
      self.request = request
      body = try JSONValue(parsing: request.body)
    }

    private func field(_ name: String) -> JSONValue? {
      if case .object(let fields) = body { fields[name] } else { nil }
    }
    var space: String? { if case .string(let text)? = field("space") { text } else { nil } }
    var from: String? { if case .string(let text)? = field("from") { text } else { nil } }
    var revision: String? { if case .string(let text)? = field("revision") { text } else { nil } }
    /// The numbers of the records.
    var ids: [Int] {
      guard case .array(let changes)? = field("changes") else { return [] }
      return changes.compactMap { change in
        guard case .object(let fields) = change, case .array(let id)? = fields["id"],
          case .number(let text)? = id.first
        else { return nil }
        return Int(text)
      }
    }
  }

  /// A program that gets deliveries, and answers with the next of some statuses, then with the last one.
  private final class Receiver: Sendable {
    private struct State {
      var deliveries: [Delivery] = []
      var statuses: [Int] = []
    }
    private let state = Mutex(State())
    private let last: Int
    private let arrivals: AsyncStream<Void>
    private let arrival: AsyncStream<Void>.Continuation

    init(_ statuses: [Int] = [], last: Int = 200) {
      self.last = last
      (arrivals, arrival) = AsyncStream.makeStream()
      state.withLock { $0.statuses = statuses }
    }

    var all: [Delivery] { state.withLock { $0.deliveries } }

    func answer(_ request: Webhook.Request) throws -> Int {
      let delivery = try Delivery(request)
      defer { arrival.yield() }
      return state.withLock { state in
        state.deliveries.append(delivery)
        return state.statuses.isEmpty ? last : state.statuses.removeFirst()
      }
    }

    /// Waits for so many deliveries in all.
    func wait(for count: Int) async {
      guard all.count < count else { return }
      for await _ in arrivals where all.count >= count { return }
    }
  }

  /// Spaces with a webhook.
  private final class Place: Sendable {
    let folder: TemporaryFolder
    let spaces: any ServedSpaces
    let store: any WebhookStore
    private let replicas = Mutex<[String: TestReplica]>([:])
    private let lines = EventLog()
    private let database: PostgreSQLDatabase?

    var log: [ServerEvent] { lines.all }

    init(_ kind: Store, address: String? = nil) async throws {
      folder = try TemporaryFolder()
      switch kind {
      case .directory:
        let path = folder.path(of: "spaces")
        spaces = try SpaceDirectory(path: path)
        store = try await WebhookFile(path: WebhookFile.path(in: path), creates: true)
        database = nil
      case .postgreSQL:
        let database = try await PostgreSQLDatabase.open(
          address: try address ?? TestCluster.shared.get().makeDatabase(), creates: true,
          maxConnectionCount: 4)
        spaces = PostgreSQLSpaces(database, limits: SyncLimits())
        store = try await PostgreSQLWebhooks(database, creates: true)
        self.database = database
      }
    }

    /// A place with a space, whose deliveries have begun.
    static func begun(_ kind: Store) async throws -> Place {
      let place = try await Place(kind)
      try await place.store.begin(at: [:])
      try await place.make("notes")
      return place
    }

    func delivery(
      to receiver: Receiver, secret: [UInt8]? = nil, _ limits: Webhook.Limits = .patient,
      following: Following? = nil
    ) -> WebhookDelivery {
      var limits = limits
      limits.backoff = Backoff(first: .milliseconds(1), max: .milliseconds(1))
      limits.pause = .milliseconds(20)
      return WebhookDelivery(
        Webhook(secret: secret, now: { 1_700_000_000.5 }), of: spaces, keptIn: store,
        limits: limits, following: following, log: { [lines] in lines.add($0) },
        sending: { try receiver.answer($0) })
    }

    func make(_ space: String) async throws {
      _ = try await spaces.with(space, creates: true) { try await $0.declare([.t]) }
    }

    @discardableResult
    func commit(_ ids: [Int], to space: String = "notes") async throws -> SpaceRevision {
      let head = try await spaces.with(space) { try await $0.state().head }
      let commit = replicas.withLock { replicas in
        replicas[space, default: TestReplica(seed: 7)].commit(head, ids.map { insertion($0) })
      }
      let outcome = try await spaces.with(space) { try await $0.commit(commit) }
      guard case .accepted(let revision, _) = outcome else { throw CancellationError() }
      return revision
    }

    func close() async {
      if let file = store as? WebhookFile { await file.close() }
      await spaces.close()
    }
  }

  /// Spaces that count the looks at all of them.
  private final class CountedSpaces: ServedSpaces {
    private let spaces: any ServedSpaces
    private let count = Mutex(0)

    init(_ spaces: any ServedSpaces) { self.spaces = spaces }

    var lookCount: Int { count.withLock { $0 } }

    func names() async throws -> [String] { try await spaces.names() }

    func marks() async throws -> [String: String] {
      count.withLock { $0 += 1 }
      return try await spaces.marks()
    }

    func with<Result: Sendable>(
      _ name: String, creates: Bool, _ body: @Sendable (any SpaceStore) async throws -> Result
    ) async throws -> Result {
      try await spaces.with(name, creates: creates, body)
    }

    func follow(
      _ name: String, _ body: @escaping @Sendable (any SpaceStore) async throws -> Void
    ) async throws { try await spaces.follow(name, body) }

    var members: (any SpaceMemberships)? { spaces.members }

    func create(_ name: String, owner: String) async throws -> Bool {
      try await spaces.create(name, owner: owner)
    }

    func rename(_ name: String, to newName: String) async throws -> Bool {
      try await spaces.rename(name, to: newName)
    }

    func delete(_ name: String) async throws { try await spaces.delete(name) }

    func successor(of name: String) async throws -> String? {
      try await spaces.successor(of: name)
    }

    func close() async { await spaces.close() }
  }

  /// Runs deliveries while `body` runs.
  private func running(
    _ delivery: WebhookDelivery, _ body: () async throws -> Void
  ) async throws {
    let run = Task { await delivery.run() }
    let result: Result<Void, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    run.cancel()
    await run.value
    try result.get()
  }

  /// Runs deliveries until nothing is left to deliver.
  private func settle(_ delivery: WebhookDelivery, _ place: Place, _ space: String = "notes")
    async throws
  {
    try await running(delivery) {
      while true {
        let head = try await place.spaces.with(space) { try await $0.state().head }
        if try await place.store.positions()?[space] == "\(head)" { return }
        await Task.yield()
      }
    }
  }

  @Test(
    "Commits after the first start are delivered with their revisions, in order per space",
    arguments: Store.allCases)
  func order(store: Store) async throws {
    let place = try await Place(store)
    try await place.make("notes")
    let start = try await place.commit([1])
    let receiver = Receiver()
    let delivery = place.delivery(to: receiver)
    var revision = start
    try await running(delivery) {
      // Once the deliveries have begun, only later commits come.
      while try await place.store.positions() == nil { await Task.yield() }
      for number in 2...6 {
        let next = try await place.commit([number])
        delivery.noteCommit(in: "notes")
        await receiver.wait(for: number - 1)
        let arrived = try #require(receiver.all.last)
        #expect(arrived.space == "notes" && arrived.ids == [number])
        #expect(arrived.from == "\(revision)" && arrived.revision == "\(next)")
        revision = next
      }
      // A space that is new comes from its beginning, also without a note.
      try await place.make("other")
      let first = try await place.commit([9], to: "other")
      await receiver.wait(for: 6)
      let arrived = try #require(receiver.all.last)
      #expect(arrived.space == "other" && arrived.ids == [9])
      #expect(arrived.revision == "\(first)")
    }
    #expect(place.log.isEmpty)
    await place.close()
  }

  @Test("A commit through this server is delivered without a look at all spaces")
  func notedCommits() async throws {
    let place = try await Place.begun(.directory)
    let (spaces, receiver) = (CountedSpaces(place.spaces), Receiver())
    var limits = Webhook.Limits.patient
    limits.pause = .seconds(3_600)
    let delivery = WebhookDelivery(
      Webhook(secret: nil), of: spaces, keptIn: place.store, limits: limits, log: { _ in },
      sending: { try receiver.answer($0) })
    try await running(delivery) {
      for number in 1...5 {
        try await place.commit([number])
        delivery.noteCommit(in: "notes")
        await receiver.wait(for: number)
      }
    }
    #expect(receiver.all.map(\.ids) == [[1], [2], [3], [4], [5]])
    #expect(spaces.lookCount <= 1)
    await place.close()
  }

  @Test(
    "A delivery is repeated until it is accepted, and later ones of its space wait",
    arguments: Store.allCases)
  func repeated(store: Store) async throws {
    let place = try await Place.begun(store)
    try await place.commit([1])
    let receiver = Receiver([500, 503, 429, 408, 301])
    try await settle(place.delivery(to: receiver), place)
    try await place.commit([2])
    try await settle(place.delivery(to: receiver), place)
    #expect(receiver.all.map(\.ids) == [[1], [1], [1], [1], [1], [1], [2]])
    #expect(try await place.store.letters(dueOnly: false, after: 0, maxCount: 9).isEmpty)
    #expect(place.log.count == 1 && place.log[0].message.contains("status 500"))
    await place.close()
  }

  @Test(
    "A delivery that is refused, or failed too often, is a dead letter, and can be sent again",
    arguments: Store.allCases)
  func deadLetters(store: Store) async throws {
    let place = try await Place.begun(store)
    var limits = Webhook.Limits.patient
    limits.maxAttemptCount = 3
    let receiver = Receiver([400, 500, 500, 500])
    for number in 1...3 {
      try await place.commit([number])
      try await settle(place.delivery(to: receiver, limits), place)
    }
    #expect(receiver.all.map(\.ids) == [[1], [2], [2], [2], [3]])
    let letters = try await place.store.letters(dueOnly: false, after: 0, maxCount: 9)
    #expect(letters.map(\.reason) == ["status 400", "status 500"])
    #expect(letters.map(\.space) == ["notes", "notes"])
    #expect(letters.map(\.body) == [receiver.all[0].request.body, receiver.all[1].request.body])
    #expect(letters.allSatisfy { !$0.isDue && $0.time == 1_700_000_000 })
    #expect(
      try await place.store.letters(dueOnly: false, after: letters[0].id, maxCount: 9).map(\.id)
        == [letters[1].id])
    // Sent again once: one is accepted, the other one stays.
    #expect(try await place.store.retry(letters[0].id) == 1)
    #expect(try await place.store.retry(nil) == 2)
    let other = Receiver([200, 404])
    try await running(place.delivery(to: other, limits)) {
      while !(try await place.store.letters(dueOnly: true, after: 0, maxCount: 9)).isEmpty {
        await Task.yield()
      }
    }
    #expect(other.all.map(\.ids) == [[1], [2]])
    let rest = try await place.store.letters(dueOnly: false, after: 0, maxCount: 9)
    #expect(rest.map(\.id) == [letters[1].id] && rest.map(\.reason) == ["status 404"])
    #expect(try await place.store.discard(letters[0].id) == 0)
    #expect(try await place.store.discard(letters[1].id) == 1)
    #expect(try await place.store.discard(nil) == 0)
    await place.close()
  }

  @Test(
    "A space that is deleted before a delivery is accepted is forgotten, with a line in the log",
    arguments: Store.allCases)
  func deleted(store: Store) async throws {
    let place = try await Place.begun(store)
    let revision = try await place.commit([1])
    try await settle(place.delivery(to: Receiver()), place)
    try await place.commit([2])
    var limits = Webhook.Limits.patient
    limits.maxAttemptCount = .max
    let receiver = Receiver(last: 500)
    try await running(place.delivery(to: receiver, limits)) {
      await receiver.wait(for: 2)
      try await place.spaces.delete("notes")
      while !place.log.contains(where: { $0.message.contains("was deleted") }) {
        await Task.yield()
      }
    }
    let event = try #require(place.log.first { $0.message.contains("was deleted") })
    #expect(event.level == .warning && event.space == "notes")
    #expect(
      event.message.contains("after revision \(revision), if there were any, were not delivered"))
    #expect(try await place.store.positions() == [:])
    #expect(try await place.store.letterCount() == 0)
    await place.close()
  }

  @Test(
    "Of a deleted space whose commits were all delivered, none is said to be missing",
    arguments: Store.allCases)
  func deletedAfterDelivery(store: Store) async throws {
    let place = try await Place.begun(store)
    let revision = try await place.commit([1])
    try await settle(place.delivery(to: Receiver()), place)
    try await place.spaces.delete("notes")
    // The server that delivers has started since.
    try await running(place.delivery(to: Receiver())) {
      while place.log.isEmpty { await Task.yield() }
    }
    #expect(place.log.map(\.level) == [.warning])
    #expect(place.log[0].message.contains("after revision \(revision), if there were any,"))
    await place.close()
  }

  @Test("A space that was deleted in the turn of another server is not named again")
  func deletedBeforeTurn() async throws {
    let place = try await Place(.postgreSQL)
    try await place.store.begin(at: [:])
    let (spaces, log) = (CountedSpaces(place.spaces), EventLog())
    var limits = Webhook.Limits.patient
    limits.pause = .milliseconds(1)
    let delivery = WebhookDelivery(
      Webhook(secret: nil), of: spaces, keptIn: place.store, limits: limits,
      log: { log.add($0) }, sending: { _ in 200 })
    delivery.noteCommit(in: "notes")
    try await running(delivery) {
      while spaces.lookCount < 10 { await Task.yield() }
    }
    #expect(log.all.isEmpty)
    await place.close()
  }

  @Test("A file that has no space yet is not taken for a space that was deleted")
  func blank() async throws {
    let place = try await Place(.directory)
    try await place.store.begin(at: [:])
    try place.folder.execute("spaces/blank.space", "CREATE TABLE t (a)", "DROP TABLE t")
    #expect(try await place.spaces.names() == ["blank"])
    let (spaces, log) = (CountedSpaces(place.spaces), EventLog())
    var limits = Webhook.Limits.patient
    limits.pause = .milliseconds(1)
    let delivery = WebhookDelivery(
      Webhook(secret: nil), of: spaces, keptIn: place.store, limits: limits,
      log: { log.add($0) }, sending: { _ in 200 })
    try await running(delivery) {
      while spaces.lookCount < 10 { await Task.yield() }
    }
    #expect(log.all.isEmpty)
    await place.close()
  }

  @Test(
    "A renamed space comes from its beginning, and the position of its former name goes",
    arguments: Store.allCases)
  func renamed(store: Store) async throws {
    let place = try await Place.begun(store)
    try await place.commit([1])
    try await settle(place.delivery(to: Receiver()), place)
    #expect(try await place.spaces.rename("notes", to: "other"))
    let receiver = Receiver()
    try await running(place.delivery(to: receiver)) {
      await receiver.wait(for: 1)
      while place.log.isEmpty { await Task.yield() }
    }
    #expect(receiver.all.map(\.space) == ["other"] && receiver.all.map(\.from) == [nil])
    #expect(place.log.map(\.level) == [.notice] && place.log.map(\.space) == ["notes"])
    #expect(place.log[0].message.contains("is called other now"))
    #expect(try await place.store.positions()?["notes"] == nil)
    await place.close()
  }

  @Test(
    "If there are as many dead letters as there may be, a space waits instead",
    arguments: Store.allCases)
  func fullOfLetters(store: Store) async throws {
    let place = try await Place.begun(store)
    var limits = Webhook.Limits.patient
    limits.maxLetterCount = 1
    let receiver = Receiver([400, 400, 400, 400])
    for number in 1...2 {
      try await place.commit([number])
      try await settle(place.delivery(to: receiver, limits), place)
    }
    #expect(receiver.all.map(\.ids) == [[1], [2], [2], [2], [2]])
    #expect(try await place.store.letterCount() == 1)
    await place.close()
  }

  @Test(
    "Deliveries that are cut off at any moment lose nothing, and keep the order",
    arguments: Store.allCases)
  func interrupted(store: Store) async throws {
    let place = try await Place.begun(store)
    let receiver = Receiver()
    for number in 1...30 {
      try await place.commit([number])
      let run = Task { await place.delivery(to: receiver).run() }
      for _ in 0..<number * 7 % 40 { await Task.yield() }
      run.cancel()
      await run.value
    }
    try await settle(place.delivery(to: receiver), place)
    // Each delivery begins where an earlier one ended, or is a repetition.
    var reached = 0
    for delivery in receiver.all {
      let ids = delivery.ids
      #expect(ids == ids.sorted() && (ids.first ?? 1) <= reached + 1)
      #expect(ids == Array((ids.first ?? 1)...(ids.last ?? 0)))
      reached = max(reached, ids.last ?? 0)
    }
    #expect(reached == 30)
    await place.close()
  }

  @Test("A server that follows delivers nothing, and after its promotion all later commits")
  func promoted() async throws {
    let place = try await Place(.directory)
    let spaces = try #require(place.spaces as? SpaceDirectory)
    let file = try #require(place.store as? WebhookFile)
    let path = place.folder.path(of: "spaces")
    try await place.make("notes")
    let revision = try await place.commit([1])
    let leader = "http://leader.example"
    try Following.begin(path, leader: leader)
    let receiver = Receiver()
    let delivery = place.delivery(
      to: receiver, following: Following(leader: leader, in: path))
    try await delivery.prepare()
    try await running(delivery) {
      for _ in 0..<1_000 { await Task.yield() }
      let positions = try await file.positions()
      #expect(positions == nil && receiver.all.isEmpty)
      // As the promotion does.
      try await file.begin(withCopiesIn: spaces)
      try Following.endPromotion(of: path)
      try await place.commit([2])
      await receiver.wait(for: 1)
    }
    #expect(receiver.all.map(\.ids) == [[2]] && receiver.all.map(\.from) == ["\(revision)"])
    #expect(place.log.isEmpty)
    // What has begun does not begin again.
    try await place.commit([3])
    try await file.begin(withCopiesIn: spaces)
    try await settle(place.delivery(to: receiver), place)
    #expect(receiver.all.last?.ids.last == 3)
    #expect(receiver.all.allSatisfy { $0.from != nil })
    await place.close()
  }

  @Test("A turn that ends too soon for a request is prolonged first", arguments: Store.allCases)
  func prolonged(store: Store) async throws {
    let place = try await Place.begun(store)
    var limits = Webhook.Limits()
    limits.maxRequestTime = limits.lease + .seconds(1)
    let receiver = Receiver()
    for number in 1...2 {
      try await place.commit([number])
      try await settle(place.delivery(to: receiver, limits), place)
    }
    #expect(receiver.all.map(\.ids) == [[1], [2]] && place.log.isEmpty)
    await place.close()
  }

  @Test("A server whose turn has ended without another one's does not name another server")
  func lapsed() async throws {
    let place = try await Place.begun(.directory)
    try await place.commit([1])
    var limits = Webhook.Limits()
    limits.lease = .zero
    let receiver = Receiver()
    try await running(place.delivery(to: receiver, limits)) {
      while place.log.isEmpty { await Task.yield() }
    }
    #expect(receiver.all.isEmpty)
    #expect(place.log.allSatisfy { $0.message.contains("stood still") })
    await place.close()
  }

  @Test("The signature is that of the time and the body under the secret")
  func signature() async throws {
    let place = try await Place.begun(.directory)
    try await place.commit([1])
    let (receiver, secret) = (Receiver(), Array("0123456789abcdef".utf8))
    try await settle(place.delivery(to: receiver, secret: secret), place)
    let request = try #require(receiver.all.first?.request)
    let expected = SHA256Digest(of: Array("1700000000.".utf8) + request.body, key: secret)
    #expect(
      request.fields.first { $0.name == "Tandem-Signature" }?.value == "t=1700000000,v1=\(expected)"
    )
    let other = Receiver()
    try await place.commit([2])
    try await settle(place.delivery(to: other), place)
    #expect(other.all.first?.request.fields.map(\.name) == ["Content-Type"])
    await place.close()
  }

  @Test("Servers that start at the same moment on a new database all find the tables")
  func simultaneousStarts() async throws {
    for _ in 1...5 {
      let address = try TestCluster.shared.get().makeDatabase()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 1...4 {
          group.addTask {
            let database = try await PostgreSQLDatabase.open(
              address: address, creates: true, maxConnectionCount: 1)
            let store = try await PostgreSQLWebhooks(database, creates: true)
            let positions = try await store.positions()
            #expect(positions == nil)
            await database.close()
          }
        }
        try await group.waitForAll()
      }
    }
  }

  @Test("Of two servers of a database, one delivers, and the other one when the first has ended")
  func turns() async throws {
    let address = try TestCluster.shared.get().makeDatabase()
    let places = try await [
      Place(.postgreSQL, address: address), Place(.postgreSQL, address: address),
    ]
    try await places[0].store.begin(at: [:])
    try await places[0].make("notes")
    #expect(try await places[0].store.takeTurn(for: .seconds(60)))
    #expect(try await places[0].store.takeTurn(for: .seconds(60)))
    #expect(try await !places[1].store.takeTurn(for: .seconds(60)))
    let revision = try await places[0].commit([1])
    let receivers = [Receiver(), Receiver()]
    // The second one may not deliver, nor keep a position.
    #expect(try await !places[1].store.keep("x", of: "notes", burying: nil))
    #expect(try await !places[1].store.keep("x", of: "notes", burying: ("reason", 1, [1])))
    #expect(try await places[0].store.positions() == [:])
    let second = places[1].delivery(to: receivers[1])
    let run = Task { await second.run() }
    try await settle(places[0].delivery(to: receivers[0]), places[0])
    // The first one has ended, and given its turn away.
    try await places[0].commit([2])
    await receivers[1].wait(for: 1)
    run.cancel()
    await run.value
    #expect(receivers[0].all.map(\.ids) == [[1]] && receivers[1].all.map(\.ids) == [[2]])
    #expect(receivers[1].all.first?.from == "\(revision)")
    // A turn ends by itself, as that of a server that was killed.
    #expect(try await places[0].store.takeTurn(for: .zero))
    while try await !places[1].store.takeTurn(for: .seconds(60)) { await Task.yield() }
    for place in places { await place.close() }
  }
}

extension Webhook.Limits {
  /// Limits that no pause of a thread reaches.
  fileprivate static var patient: Self {
    var limits = Self()
    limits.lease = .seconds(3_600)
    limits.maxRequestTime = .seconds(3_000)
    return limits
  }
}
