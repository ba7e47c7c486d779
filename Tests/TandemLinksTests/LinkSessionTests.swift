import TandemChannels
import TandemRecords
import TestRandom
import Testing

@testable import TandemLinks

/// A listening hub and two connected ones, with their sessions and connections, in a single value. The hubs
/// are tables of properties.
private struct LinkWorld: Hashable {
  struct Client: Hashable {
    var session: ConnectingSession
    var values: [String: Int] = [:]
    /// The other end, and the frames on their way, while there is a connection.
    var peer: ListeningSession?
    var toHub: [LinkFrame] = []
    var toClient: [LinkFrame] = []
    /// The number of frames on their way after which the sender is told that they have been written.
    var isHubWriting = false
    var isClientWriting = false
    var breakCount: Int
    var writes: [[String: Int]]
  }

  enum Step: Hashable {
    case hubWrites, hubRestarts
    case clientWrites(Int), breaks(Int), connects(Int), toHub(Int), toClient(Int)
  }

  static let options = ChannelLinkOptions()
  var log = LinkLog(epoch: 1)
  var values: [String: Int] = [:]
  var hubWrites: [[String: Int]] = []
  var restartCount = 0
  /// True if a model of the listening hub replaces even values by odd ones.
  var answers = false
  /// True if frames are written only when the peer reads them.
  var isSlow = false
  var clients: [Client]

  init(writes: [[[String: Int]]], breakCount: Int, values: [[String: Int]] = [[:], [:]]) {
    clients = zip(writes, values).enumerated().map { number, client in
      Client(
        session: ConnectingSession(
          client: UInt64(number), options: Self.options, maxRememberedValueCount: 100_000),
        values: client.1, breakCount: number == 0 ? breakCount : 0, writes: client.0)
    }
  }

  /// The steps that are possible now. Breaks, writes and restarts are limited in number.
  var steps: [Step] {
    var steps: [Step] = hubWrites.isEmpty ? [] : [.hubWrites]
    if restartCount > 0 { steps.append(.hubRestarts) }
    for (number, client) in clients.enumerated() {
      if !client.writes.isEmpty { steps.append(.clientWrites(number)) }
      if client.peer == nil { steps.append(.connects(number)) }
      if client.peer != nil, client.breakCount > 0 { steps.append(.breaks(number)) }
      if !client.toHub.isEmpty { steps.append(.toHub(number)) }
      if !client.toClient.isEmpty { steps.append(.toClient(number)) }
    }
    return steps
  }

  mutating func take(_ step: Step) {
    switch step {
    case .hubWrites: order(hubWrites.removeFirst(), from: nil)
    case .hubRestarts:
      restartCount -= 1
      for number in clients.indices where clients[number].peer != nil { breakConnection(number) }
      (log, values) = (LinkLog(epoch: log.epoch + 1), [:])
    case .clientWrites(let number):
      let write = clients[number].writes.removeFirst()
      clients[number].values.merge(write) { $1 }
      tellClient(number, .sent([Self.message(write)]))
    case .connects(let number):
      clients[number].peer = ListeningSession(
        options: Self.options, maxRememberedValueCount: 100_000)
      tellClient(number, .opened)
    case .breaks(let number):
      clients[number].breakCount -= 1
      breakConnection(number)
    case .toHub(let number):
      let frame = clients[number].toHub.removeFirst()
      tellHub(number, .received(frame))
      if clients[number].toHub.isEmpty, clients[number].isClientWriting {
        clients[number].isClientWriting = false
        tellClient(number, .written)
      }
    case .toClient(let number):
      let frame = clients[number].toClient.removeFirst()
      tellClient(number, .received(frame))
      if clients[number].toClient.isEmpty, clients[number].isHubWriting {
        clients[number].isHubWriting = false
        tellHub(number, .written)
      }
    }
  }

  private mutating func breakConnection(_ number: Int) {
    tellClient(number, .closed)
    tellHub(number, .closed)
    clients[number].peer = nil
    (clients[number].toHub, clients[number].toClient) = ([], [])
    (clients[number].isHubWriting, clients[number].isClientWriting) = (false, false)
  }

  // MARK: Performing actions, as LinkFeed does

  private mutating func tellClient(_ number: Int, _ event: LinkEvent) {
    var unused = LinkLog(epoch: 0)
    for action in clients[number].session.handle(event, log: &unused) {
      switch action {
      case .send(let frames):
        clients[number].toHub += frames
        clients[number].isClientWriting = isSlow
        if !isSlow { tellClient(number, .written) }
      case .deliver(let messages):
        for message in messages {
          clients[number].values.merge(Self.values(message)) { $1 }
        }
        tellClient(number, .delivered)
      case .readMemory:
        let memory = clients[number].values
        tellClient(number, .memoryRead(memory.isEmpty ? [] : [Self.message(memory)]))
      case .report(let losses): Issue.record("lost: \(losses)")
      case .close(let error): Issue.record("closed: \(error)")
      }
    }
  }

  private mutating func tellHub(_ number: Int, _ event: LinkEvent) {
    guard let actions = clients[number].peer?.handle(event, log: &log) else { return }
    for action in actions {
      switch action {
      case .send(let frames):
        clients[number].toClient += frames
        clients[number].isHubWriting = isSlow
        if !isSlow { tellHub(number, .written) }
      case .deliver(let messages):
        var accepted: [String: Int] = [:]
        for message in messages {
          for (name, value) in Self.values(message)
          where !message.offers.contains(name) || values[name] == nil {
            accepted[name] = value
          }
        }
        if !accepted.isEmpty { order(accepted, from: number) }
        tellHub(number, .delivered)
      case .readMemory:
        tellHub(number, .memoryRead(values.isEmpty ? [] : [Self.message(values)]))
      case .report(let losses): Issue.record("lost: \(losses)")
      case .close(let error): Issue.record("closed: \(error)")
      }
    }
  }

  private mutating func order(_ batch: [String: Int], from origin: Int?) {
    values.merge(batch) { $1 }
    log.advance()
    for number in clients.indices {
      let messages = [Self.message(batch)]
      tellHub(number, number == origin ? .ordered(messages) : .sent(messages))
    }
    let replaced = batch.filter { $0.value.isMultiple(of: 2) }.mapValues { $0 + 1 }
    if answers, !replaced.isEmpty { order(replaced, from: nil) }
  }

  private static func message(_ values: [String: Int]) -> ChannelMessage {
    ChannelMessage(
      subject: "Thing", id: .number("1"), values: values.mapValues { .number("\($0)") })
  }

  private static func values(_ message: ChannelMessage) -> [String: Int] {
    message.values.compactMapValues {
      if case .number(let digits) = $0 { Int(digits) } else { nil }
    }
  }
}

@Suite(.timeLimit(.minutes(20)))
struct LinkSessionTests {
  /// Takes all possible steps in all orders; expects the hubs to be equal whenever nothing is left to do.
  private func explore(_ start: LinkWorld) -> (stateCount: Int, endCount: Int) {
    var known: Set<LinkWorld> = [start]
    var open: [(world: LinkWorld, path: [LinkWorld.Step])] = [(start, [])]
    var endCount = 0
    while let (world, path) = open.popLast() {
      var isEnd = true
      for step in world.steps {
        switch step {
        case .breaks, .hubRestarts: break
        default: isEnd = false
        }
        var next = world
        next.take(step)
        if known.insert(next).inserted { open.append((next, path + [step])) }
      }
      guard isEnd else { continue }
      endCount += 1
      guard world.clients.contains(where: { $0.values != world.values }) else { continue }
      Issue.record("\(world.values) and \(world.clients.map(\.values)) after \(path)")
      return (known.count, endCount)
    }
    return (known.count, endCount)
  }

  @Test("all hubs are equal in the end, in whatever order things happen", arguments: [false, true])
  func orders(isSlow: Bool) {
    var world = LinkWorld(writes: [[["x": 10], ["x": 12, "y": 14]], [["x": 20]]], breakCount: 0)
    world.hubWrites = [["x": 30]]
    world.isSlow = isSlow
    let (stateCount, endCount) = explore(world)
    #expect(stateCount > 500 && endCount > 3)
  }

  @Test("a connection may break and be made again at any point", arguments: [false, true])
  func breaks(isSlow: Bool) {
    var world = LinkWorld(writes: [[["x": 10], ["x": 12]], []], breakCount: 2)
    world.hubWrites = [["x": 30], ["x": 32, "y": 34]]
    world.clients.removeLast()
    world.isSlow = isSlow
    #expect(explore(world).stateCount > 500)
  }

  @Test("two hubs write, and the connection of one breaks")
  func breaksWithOthers() {
    let world = LinkWorld(writes: [[["x": 10]], [["x": 20]]], breakCount: 1)
    #expect(explore(world).stateCount > 500)
  }

  @Test("a model of the listening hub may replace each value that arrives")
  func answers() {
    var world = LinkWorld(writes: [[["x": 10], ["x": 12]], [["x": 20]]], breakCount: 0)
    world.answers = true
    #expect(explore(world).stateCount > 500)
    world = LinkWorld(writes: [[["x": 10], ["x": 12]], []], breakCount: 1)
    world.clients.removeLast()
    world.answers = true
    #expect(explore(world).stateCount > 100)
  }

  @Test("hubs that remember other values are equal after the first connection, with all of them")
  func offers() {
    var world = LinkWorld(
      writes: [[["x": 10]], []], breakCount: 1,
      values: [["x": 1, "y": 2], ["y": 3, "z": 4]])
    world.values = ["x": 5]
    #expect(explore(world).stateCount > 500)
  }

  @Test("the listening hub may be started again, having forgotten everything, at any point")
  func restarts() {
    var world = LinkWorld(writes: [[["x": 10], ["y": 12]], []], breakCount: 0)
    world.hubWrites = [["x": 30]]
    world.clients.removeLast()
    world.restartCount = 1
    #expect(explore(world).stateCount > 200)
  }

  @Test("in longer random runs, all hubs are equal in the end", arguments: 0..<40)
  func randomRuns(seed: Int) {
    var generator = SplitMix64(seed: seed)
    func writes(_ count: Int) -> [[String: Int]] {
      (0..<count).map { _ in
        let names = ["x", "y", "z"].filter { _ in Bool.random(using: &generator) }
        return Dictionary(
          uniqueKeysWithValues: (names.isEmpty ? ["x"] : names).map {
            ($0, Int.random(in: 0..<1_000, using: &generator))
          })
      }
    }
    var world = LinkWorld(writes: [writes(30), writes(30)], breakCount: 10)
    world.hubWrites = writes(20)
    world.clients[1].breakCount = 5
    world.answers = seed.isMultiple(of: 2)
    world.isSlow = seed % 4 < 2
    world.restartCount = seed % 3 == 0 ? 2 : 0
    while let step = world.steps.randomElement(using: &generator) { world.take(step) }
    for client in world.clients { #expect(client.values == world.values, "seed \(seed)") }
  }

  // MARK: Single rules

  private static let write = ChannelMessage(
    subject: "Thing", id: .number("1"), values: ["x": .number("1")])

  @Test("a frame that was ordered before a break is not ordered again")
  func exactlyOnce() {
    var log = LinkLog(epoch: 9)
    func connect() -> ListeningSession {
      var session = ListeningSession(options: LinkWorld.options, maxRememberedValueCount: 0)
      _ = session.handle(
        .received(.hello(.connecting(client: 7, epoch: nil, sequence: nil))), log: &log)
      return session
    }
    var first = connect()
    let frame = LinkFrame.values(LinkValues([Self.write], number: 1))
    let delivery = first.handle(.received(frame), log: &log)
    #expect(delivery == [.deliver([Self.write])])
    var second = ListeningSession(options: LinkWorld.options, maxRememberedValueCount: 0)
    let hello = LinkGreeting.connecting(client: 7, epoch: 9, sequence: nil)
    let answer = second.handle(.received(.hello(hello)), log: &log)
    #expect(answer == [.send([.hello(.listening(epoch: 9, acknowledged: 1))])])
    // Neither again on the new connection, nor late on the old one.
    for late in [frame, .values(LinkValues([Self.write], number: 3))] {
      guard case .close(let error)? = second.handle(.received(late), log: &log).first else {
        Issue.record("\(late) was accepted")
        continue
      }
      #expect(error.code == .malformed)
    }
    let next = LinkFrame.values(LinkValues([Self.write], number: 2))
    guard case .close? = first.handle(.received(next), log: &log).first else {
      Issue.record("a frame of the old connection was accepted")
      return
    }
  }

  @Test("a sender that writes in answer to a report does not make a session read or send twice")
  func nestedSends() {
    var log = LinkLog(epoch: 9)
    for var session in [
      ConnectingSession(client: 1, options: LinkWorld.options, maxRememberedValueCount: 0),
      ListeningSession(options: LinkWorld.options, maxRememberedValueCount: 0),
    ] as [any LinkSession] {
      let greeting: LinkGreeting =
        session is ConnectingSession
        ? .listening(epoch: 9, acknowledged: 0)
        : .connecting(client: 1, epoch: nil, sequence: nil)
      _ = session.handle(.opened, log: &log)
      var actions = session.handle(.received(.hello(greeting)), log: &log)
      actions += session.handle(.written, log: &log)
      #expect(actions.last == .readMemory)
      // While memory is read, a value that does not travel is reported, and the program sends another one.
      let nested = session.handle(.sent([Self.write]), log: &log)
      #expect(nested == [])
      actions = session.handle(.memoryRead([Self.write]), log: &log)
      #expect(actions.count == 1)
      let later = session.handle(.sent([Self.write]), log: &log)
      #expect(later == [])
    }
  }

  @Test("a peer that has lost values gets a snapshot on its next connection")
  func losses() {
    var log = LinkLog(epoch: 9)
    let options = ChannelLinkOptions(maxWaitingChannelCount: 1)
    var session = ListeningSession(options: options, maxRememberedValueCount: 0)
    let hello = LinkFrame.hello(.connecting(client: 1, epoch: 9, sequence: 0))
    _ = session.handle(.received(hello), log: &log)
    var other = Self.write
    other.id = .number("2")
    var actions: [LinkAction] = []
    for message in [Self.write, other] {
      log.advance()
      actions += session.handle(.sent([message]), log: &log)
    }
    #expect(actions == [.report([LinkOutbox.Loss(message: Self.write, isNew: false)])])
    actions = session.handle(.written, log: &log)
    #expect(actions == [.send([.values(LinkValues([other]))])], "no sequence number")
  }

  @Test("frames of a script are acknowledged, and the hub does not remember the script")
  func scripts() {
    var log = LinkLog(epoch: 9)
    let unchanged = log
    var session = ListeningSession(options: LinkWorld.options, maxRememberedValueCount: 0)
    let hello = LinkFrame.hello(.connecting(client: nil, epoch: 9, sequence: 0))
    _ = session.handle(.received(hello), log: &log)
    _ = session.handle(.written, log: &log)
    let frame = LinkFrame.values(LinkValues([Self.write], number: 1))
    let delivery = session.handle(.received(frame), log: &log)
    #expect(delivery == [.deliver([Self.write])])
    var answer = LinkValues([])
    (answer.acknowledged, answer.sequence) = (1, 0)
    let actions = session.handle(.delivered, log: &log)
    #expect(actions == [.send([.values(answer)])])
    _ = session.handle(.closed, log: &log)
    #expect(log == unchanged)
  }

  @Test("a hub that has lost its own writes asks for a snapshot on its next connection")
  func ownLosses() {
    var log = LinkLog(epoch: 0)
    let options = ChannelLinkOptions(maxWaitingChannelCount: 1)
    var session = ConnectingSession(client: 1, options: options, maxRememberedValueCount: 0)
    _ = session.handle(.opened, log: &log)
    _ = session.handle(.received(.hello(.listening(epoch: 9, acknowledged: 0))), log: &log)
    var other = Self.write
    other.id = .number("2")
    var actions: [LinkAction] = []
    for message in [Self.write, other] { actions += session.handle(.sent([message]), log: &log) }
    #expect(actions == [.report([LinkOutbox.Loss(message: Self.write, isNew: false)])])
    var values = LinkValues([])
    values.sequence = 5
    for sequence in [nil, 5] as [UInt64?] {
      // The loss is known before the number arrives, and must not be forgotten because of it.
      _ = session.handle(.received(.values(values)), log: &log)
      _ = session.handle(.closed, log: &log)
      actions = session.handle(.opened, log: &log)
      #expect(actions == [.send([.hello(.connecting(client: 1, epoch: 9, sequence: sequence))])])
      _ = session.handle(.received(.hello(.listening(epoch: 9, acknowledged: 0))), log: &log)
    }
  }

  @Test("a peer of the same role, a second greeting, and a false acknowledgement end the link")
  func refusals() {
    var log = LinkLog(epoch: 9)
    let listening = LinkFrame.hello(.listening(epoch: 1, acknowledged: 0))
    let connecting = LinkFrame.hello(.connecting(client: 1, epoch: nil, sequence: nil))
    var acknowledgement = LinkValues([])
    acknowledgement.acknowledged = 5
    func code(_ session: any LinkSession, _ frames: [LinkFrame]) -> ChannelLinkError.Code? {
      var session = session
      _ = session.handle(.opened, log: &log)
      var last: [LinkAction] = []
      for frame in frames { last = session.handle(.received(frame), log: &log) }
      if case .close(let error)? = last.first { return error.code }
      return nil
    }
    let hub = ListeningSession(options: LinkWorld.options, maxRememberedValueCount: 0)
    let client = ConnectingSession(
      client: 1, options: LinkWorld.options, maxRememberedValueCount: 0)
    #expect(code(hub, [listening]) == .role && code(client, [connecting]) == .role)
    #expect(code(hub, [connecting, connecting]) == .malformed)
    #expect(code(client, [listening, listening]) == .malformed)
    #expect(code(client, [.hello(.listening(epoch: 1, acknowledged: 4))]) == .malformed)
    #expect(code(client, [listening, .values(acknowledgement)]) == .malformed)
    for session in [hub, client] as [any LinkSession] {
      #expect(code(session, [.values(LinkValues([Self.write]))]) == .malformed)
    }
  }

  @Test("a peer that does not greet in time is disconnected; one that has greeted is not")
  func handshake() {
    var log = LinkLog(epoch: 9)
    var session: any LinkSession = ConnectingSession(
      client: 1, options: LinkWorld.options, maxRememberedValueCount: 0)
    _ = session.handle(.opened, log: &log)
    let inTime = session.handle(.handshakeTimedOut, log: &log)
    #expect(
      inTime == [
        .close(.handshakeTimeout(LinkWorld.options))
      ])
    _ = session.handle(.received(.hello(.listening(epoch: 1, acknowledged: 0))), log: &log)
    let late = session.handle(.handshakeTimedOut, log: &log)
    #expect(late == [])
  }

  @Test("greetings and frames with the largest numbers change nothing for other peers")
  func largestNumbers() {
    var log = LinkLog(epoch: 9)
    for step in 0..<1_000 {
      let client = step.isMultiple(of: 2) ? UInt64.max / 256 * UInt64(step % 257) : nil
      var session = ListeningSession(options: LinkWorld.options, maxRememberedValueCount: 0)
      let hello = LinkGreeting.connecting(client: client, epoch: .max, sequence: .max)
      _ = session.handle(.received(.hello(hello)), log: &log)
      for number in [UInt64.max, 0, .max] {
        _ = session.handle(.received(.values(LinkValues([Self.write], number: number))), log: &log)
      }
      _ = session.handle(.closed, log: &log)
    }
    #expect(log.sequence == 0)
    var session = ListeningSession(options: LinkWorld.options, maxRememberedValueCount: 0)
    let hello = LinkFrame.hello(.connecting(client: 7, epoch: 9, sequence: 0))
    _ = session.handle(.received(hello), log: &log)
    let frame = LinkFrame.values(LinkValues([Self.write], number: 1))
    let delivery = session.handle(.received(frame), log: &log)
    #expect(delivery == [.deliver([Self.write])])

    var client = ConnectingSession(
      client: 1, options: LinkWorld.options, maxRememberedValueCount: 0)
    _ = client.handle(.opened, log: &log)
    let greeting = LinkFrame.hello(.listening(epoch: .max, acknowledged: 0))
    _ = client.handle(.received(greeting), log: &log)
    var values = LinkValues([Self.write])
    values.sequence = .max
    let received = client.handle(.received(.values(values)), log: &log)
    #expect(received == [.deliver([Self.write])])
  }

  @Test("clients that have gone are forgotten beyond a number, those that are connected never")
  func forgetting() {
    var log = LinkLog(epoch: 9)
    let lasting = log.connect(0)
    _ = log.accept(1, from: 0, on: lasting.connection)
    for client in 1...UInt64(LinkLog.maxAbsentClientCount + 10) {
      let (connection, _) = log.connect(client)
      _ = log.accept(1, from: client, on: connection)
      log.disconnect(client, on: connection)
    }
    let counts = [0, 10, 11].map { log.connect($0).frameCount }
    #expect(counts == [1, 0, 1])
  }
}
