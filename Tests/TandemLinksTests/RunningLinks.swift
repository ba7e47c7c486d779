import Synchronization
import TandemChannels
import TandemLinks

/// Runs links on connections while `body` runs; the first of each two listens. `body` begins when all of them
/// are attached to their hubs: values that are sent from then on wait for each peer.
@MainActor func running(
  _ ends: [(ChannelLink, MemoryConnection)], _ body: () async throws -> Void
) async rethrows {
  let (attachments, attached) = AsyncStream.makeStream(of: Void.self)
  let tasks = ends.enumerated().map { index, end in
    Task {
      try await end.0.run(
        on: WatchedConnection(end.1) { attached.yield() },
        as: index.isMultiple(of: 2) ? .listening : .connecting)
    }
  }
  defer { for task in tasks { task.cancel() } }
  for await _ in attachments.prefix(ends.count) {}
  try await body()
  for task in tasks { task.cancel() }
  for task in tasks { _ = await task.result }
}

/// A connection that reports the first read: then a link is attached to its hub.
final class WatchedConnection: ChannelConnection {
  private let base: MemoryConnection
  private let onReceive: @Sendable () -> Void
  private let hasRead = Atomic(false)

  init(_ base: MemoryConnection, onReceive: @escaping @Sendable () -> Void) {
    self.base = base
    self.onReceive = onReceive
  }

  func send(_ bytes: [UInt8]) async throws { try await base.send(bytes) }

  func receive() async throws -> [UInt8]? {
    if !hasRead.exchange(true, ordering: .relaxed) { onReceive() }
    return try await base.receive()
  }

  func close() { base.close() }
}
