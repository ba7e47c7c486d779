import Testing

@testable import TandemHTTP

@Suite("Response lifecycle")
struct ResponseLifecycleTests {
  private enum Event: CaseIterable {
    case head, bytes, end, failure, cancel, take
  }

  private let head = HTTPResponseHead(status: 200, url: "http://a")

  private func lifecycle(limit: Int? = nil, buffer: Int = 4) -> ResponseLifecycle {
    ResponseLifecycle(url: "http://a", maxBodyByteCount: limit, maxBufferedByteCount: buffer)
  }

  private func received(
    _ count: Int, by lifecycle: inout ResponseLifecycle
  ) -> ResponseLifecycle.Demand {
    [UInt8](repeating: 7, count: count).withUnsafeBytes { lifecycle.received($0) }
  }

  @Test("a producer is paused when the buffer is full, and resumed when it has been taken")
  func pausing() throws {
    var lifecycle = lifecycle()
    lifecycle.received(head: head)
    #expect(received(3, by: &lifecycle) == .more)
    #expect(received(1, by: &lifecycle) == .pause)
    #expect(received(2, by: &lifecycle) == .pause)
    var taken = try lifecycle.takeChunk()
    #expect(taken.bytes?.count == 6)
    #expect(taken.resumesProducer)
    #expect(received(1, by: &lifecycle) == .more)
    taken = try lifecycle.takeChunk()
    #expect(!taken.resumesProducer)
    #expect(received(9, by: &lifecycle) == .pause)
    lifecycle.ended(nil)
    taken = try lifecycle.takeChunk()
    #expect(taken.bytes?.count == 9)
    #expect(!taken.resumesProducer)
    #expect(try lifecycle.takeChunk().bytes == nil)
  }

  @Test("bytes that arrived before a failure are handed out before it")
  func failureAfterBytes() throws {
    var lifecycle = lifecycle()
    lifecycle.received(head: head)
    _ = received(2, by: &lifecycle)
    lifecycle.ended(TransportError(.truncated, "", url: "http://a"))
    #expect(try lifecycle.takeHead() == head)
    #expect(try lifecycle.takeChunk().bytes?.count == 2)
    for _ in 0..<2 {
      #expect(throws: TransportError.self) { try lifecycle.takeChunk() }
    }
  }

  @Test("what was received and thrown away by cancelling does not look like the end")
  func cancelledWhenComplete() {
    var lifecycle = lifecycle()
    lifecycle.received(head: head)
    _ = received(2, by: &lifecycle)
    lifecycle.ended(nil)
    let tellsProducer = lifecycle.cancelled()
    #expect(!tellsProducer)
    #expect(throws: CancellationError.self) { try lifecycle.takeChunk() }
  }

  @Test("an end without a head is a failure, never a wait")
  func endWithoutHead() throws {
    var lifecycle = lifecycle()
    #expect(!lifecycle.has(.head))
    lifecycle.ended(nil)
    #expect(lifecycle.has(.head))
    let error = #expect(throws: TransportError.self) { try lifecycle.takeHead() }
    #expect(error?.code == .malformedResponse)
  }

  @Test("a declared length over the limit stops the first byte; none is kept")
  func declaredLength() throws {
    var lifecycle = lifecycle(limit: 3)
    lifecycle.received(
      head: HTTPResponseHead(status: 200, fields: ["Content-Length": "4"], url: "http://a"))
    #expect(received(1, by: &lifecycle) == .stop)
    let error = #expect(throws: TransportError.self) { try lifecycle.takeChunk() }
    #expect(error?.code == .tooLarge)
  }

  /// Runs `events` and checks after each what must hold whatever happened before.
  private func check(_ events: [Event]) throws {
    var lifecycle = lifecycle(limit: 5, buffer: 2)
    var (sent, taken, isStopped, hasEnded) = (0, 0, false, false)
    for event in events {
      switch event {
      case .head: lifecycle.received(head: head)
      case .bytes:
        let demand = received(2, by: &lifecycle)
        if demand != .stop { sent += 2 }
        #expect(!isStopped || demand == .stop, "\(events)")
        isStopped = isStopped || demand == .stop
      case .end, .failure:
        let error = TransportError(.connectionLost, "", url: "http://a")
        lifecycle.ended(event == .end ? nil : error)
        (isStopped, hasEnded) = (true, true)
      case .cancel:
        let tellsProducer = lifecycle.cancelled()
        #expect(tellsProducer == !hasEnded, "\(events)")
        isStopped = true
      case .take where lifecycle.has(.chunk):
        let bytes = try? lifecycle.takeChunk().bytes
        taken += bytes?.count ?? 0
        #expect(bytes?.isEmpty != true, "\(events)")
      case .take: break
      }
      #expect(taken <= sent && sent <= 5, "\(events)")
      if isStopped { #expect(lifecycle.has(.head) && lifecycle.has(.chunk), "\(events)") }
    }
  }

  @Test(
    "no order of up to six events traps, keeps too much, or leaves a reader waiting after an end")
  func exhaustive() throws {
    var sequences: [[Event]] = [[]]
    for _ in 0..<6 {
      sequences = sequences.flatMap { events in Event.allCases.map { events + [$0] } }
    }
    for events in sequences { try check(events) }
  }
}

@Suite("Idle watch")
struct IdleWatchTests {
  /// What a watch of 100 ms finds by looking at counts at milliseconds.
  private func findings(_ looks: [(count: Int64?, time: Int)]) -> [Bool] {
    let start = ContinuousClock.now
    var watch = IdleWatch(timeout: .milliseconds(100), now: start)
    #expect(watch.nextLook == start + .milliseconds(25))
    return looks.map { count, time in
      defer { #expect(watch.nextLook == start + .milliseconds(time + 25)) }
      return watch.look(at: count, now: start + .milliseconds(time))
    }
  }

  @Test("time runs out a timeout after the last movement that was seen, not before")
  func runsOut() {
    let looks: [(Int64?, Int)] = [(1, 25), (2, 50), (2, 149), (2, 150)]
    #expect(findings(looks) == [false, false, false, true])
  }

  @Test("time does not run while nothing is expected to move")
  func waiting() {
    let looks: [(Int64?, Int)] = [(nil, 1000), (0, 2000), (0, 2099), (0, 2100)]
    #expect(findings(looks) == [false, false, false, true])
    #expect(findings([(5, 10), (nil, 200), (5, 290), (5, 389)]) == [false, false, false, false])
  }

  @Test("nothing at all from the beginning runs out too")
  func neverMoved() {
    #expect(findings([(0, 25), (0, 125)]) == [false, true])
  }

  @Test("too few bytes are no movement: those of a rate add up until they are enough")
  func rate() {
    let start = ContinuousClock.now
    var watch = IdleWatch(timeout: .milliseconds(100), minByteCount: 10, now: start)
    let looks: [(Int64?, Int, Bool)] = [
      (0, 25, false), (9, 100, false), (10, 120, false), (15, 200, false), (19, 219, false),
      (19, 220, true), (nil, 230, false), (19, 240, false), (28, 339, false), (28, 340, true),
    ]
    for (count, time, isExpired) in looks {
      #expect(watch.look(at: count, now: start + .milliseconds(time)) == isExpired, "\(time)")
    }
  }
}

@Suite("Timeouts of a transfer")
struct TimeoutWatchTests {
  private let start = ContinuousClock.now
  private typealias Progress = TimeoutWatch.Progress

  /// What a watch says at a look at each number of seconds.
  private func expiries(
    _ timeouts: HTTPTimeouts, _ looks: [(time: Int, progress: TimeoutWatch.Progress)]
  ) -> [String] {
    var watch = TimeoutWatch(timeouts, now: start)
    return looks.map { time, progress in
      watch.expiry(of: progress, now: start + .seconds(time)).map { "\($0.prefix(9))" } ?? ""
    }
  }

  @Test("a header that drips ends with the time for the head, which no line extends")
  func head() {
    let dripping = (1...25).map {
      ($0 * 15, Progress(byteCount: Int64($0), hasHead: false, isPaused: false))
    }
    let expiries = expiries(.transfers, dripping)
    #expect(expiries.firstIndex { !$0.isEmpty }.map { dripping[$0].0 } == 375)
    #expect(expiries.last == "the heade")
    #expect(self.expiries(HTTPTimeouts(), dripping).joined() == "")
    // The wait for a connection does not count.
    let waiting = (1...100).map {
      ($0 * 15, Progress(byteCount: 0, isConnected: false, hasHead: false, isPaused: false))
    }
    #expect(self.expiries(.transfers, waiting).joined() == "")
  }

  @Test("a body that drips ends with the lowest rate, but not while its reader is behind")
  func rate() {
    func drip(_ bytesPerSecond: Int64, isPaused: Bool = false) -> [(Int, TimeoutWatch.Progress)] {
      (0...20).map {
        let count = Int64($0) * 15 * bytesPerSecond
        return ($0 * 15, Progress(byteCount: count, hasHead: true, isPaused: isPaused))
      }
    }
    let slow = Int64(HTTPTimeouts.defaultMinBytesPerSecond) / 2
    #expect(expiries(.transfers, drip(slow)).contains("fewer tha"))
    #expect(expiries(.transfers, drip(2 * slow)).joined() == "")
    #expect(expiries(.transfers, drip(slow, isPaused: true)).joined() == "")
    #expect(expiries(HTTPTimeouts(), drip(1)).joined() == "")
  }
}
