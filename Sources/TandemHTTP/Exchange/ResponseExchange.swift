import Synchronization

/// Hands one response from the thread or queue that receives it to the one task that reads it.
final class ResponseExchange: Sendable {
  /// A command from the reader to the producer.
  enum Command: Sendable {
    /// Continue after a pause.
    case resume
    /// End the transfer; nothing more will be read.
    case cancel
  }

  private struct Shared {
    var lifecycle: ResponseLifecycle
    var waiter: (want: ResponseLifecycle.Want, continuation: CheckedContinuation<Void, Never>)?

    /// Removes the waiting reader, if there is something for it.
    mutating func takeServedWaiter() -> CheckedContinuation<Void, Never>? {
      guard let waiter, lifecycle.has(waiter.want) else { return nil }
      self.waiter = nil
      return waiter.continuation
    }
  }

  private let shared: Mutex<Shared>
  private let command: @Sendable (Command) -> Void

  /// An exchange that passes the reader's commands to `command`, from any thread.
  init(_ lifecycle: ResponseLifecycle, command: @escaping @Sendable (Command) -> Void) {
    shared = Mutex(Shared(lifecycle: lifecycle))
    self.command = command
  }

  // MARK: Producer

  /// Notes an event, without waking the reader, so that several are answered by one waking.
  func record<Answer: Sendable>(_ event: (inout ResponseLifecycle) -> sending Answer) -> Answer {
    shared.withLock { event(&$0.lifecycle) }
  }

  /// Wakes the reader if what was recorded is what it waits for.
  func deliver() {
    shared.withLock { $0.takeServedWaiter() }?.resume()
  }

  // MARK: Reader

  /// The head, as soon as it is here.
  func head() async throws -> HTTPResponseHead {
    await ready(for: .head)
    return try shared.withLock { try $0.lifecycle.takeHead() }
  }

  /// The bytes that are here, at least one, or `nil` at the end.
  func next() async throws -> [UInt8]? {
    await ready(for: .chunk)
    let (bytes, resumesProducer) = try shared.withLock { try $0.lifecycle.takeChunk() }
    if resumesProducer { command(.resume) }
    return bytes
  }

  /// Ends the transfer, unless it has ended.
  func cancel() {
    let (tellsProducer, waiter) = shared.withLock {
      let tellsProducer = $0.lifecycle.cancelled()
      return (tellsProducer, $0.takeServedWaiter())
    }
    waiter?.resume()
    if tellsProducer { command(.cancel) }
  }

  private func ready(for want: ResponseLifecycle.Want) async {
    await withTaskCancellationHandler {
      if shared.withLock({ $0.lifecycle.has(want) }) { return }
      await withCheckedContinuation { continuation in
        let isReady = shared.withLock {
          if $0.lifecycle.has(want) { return true }
          precondition($0.waiter == nil, "two tasks read one HTTPBody at the same time")
          $0.waiter = (want, continuation)
          return false
        }
        if isReady { continuation.resume() }
      }
    } onCancel: {
      cancel()
    }
  }
}

/// Keeps a transfer going for as long as somebody can read it.
final class ResponseReader: Sendable {
  private let exchange: ResponseExchange

  init(_ exchange: ResponseExchange) { self.exchange = exchange }

  deinit { exchange.cancel() }

  /// The response, once its head is here; its body keeps this reader.
  func stream() async throws -> HTTPResponseStream {
    let head = try await exchange.head()
    return HTTPResponseStream(head: head, body: HTTPBody { try await self.exchange.next() })
  }
}
