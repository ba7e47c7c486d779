import Synchronization
import TandemChannels
import TandemLinks

/// Runs links on connections while `body` runs, which begins when all of them are attached to their hubs:
/// what is sent from then on waits for each peer.
@MainActor func running(
  _ ends: [(ChannelLink, MemoryConnection)], _ body: () async throws -> Void
) async rethrows {
  let (attachments, attached) = AsyncStream.makeStream(of: Void.self)
  let tasks = ends.map { link, end in
    Task { try await link.run(on: WatchedConnection(end) { attached.yield() }) }
  }
  defer { for task in tasks { task.cancel() } }
  for await _ in attachments.prefix(ends.count) {}
  try await body()
  for task in tasks { task.cancel() }
  for task in tasks { _ = await task.result }
}

/// A connection that tells when somebody reads from it for the first time.
private final class WatchedConnection: ChannelConnection {
  private let base: MemoryConnection
  private let onReceive: @Sendable () -> Void
  private let hasTold = Atomic(false)

  init(_ base: MemoryConnection, onReceive: @escaping @Sendable () -> Void) {
    self.base = base
    self.onReceive = onReceive
  }

  func send(_ bytes: [UInt8]) async throws { try await base.send(bytes) }

  func receive() async throws -> [UInt8]? {
    if !hasTold.exchange(true, ordering: .relaxed) { onReceive() }
    return try await base.receive()
  }

  func close() { base.close() }
}
