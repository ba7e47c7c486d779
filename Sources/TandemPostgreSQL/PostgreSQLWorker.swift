internal import Dispatch
internal import Synchronization

/// A connection and the queue whose thread uses it.
///
/// Unchecked: only the queue, which is serial, uses the connection.
final class PostgreSQLWorker: @unchecked Sendable {
  private let queue = DispatchQueue(label: "tandem.postgresql")
  private let address: String
  private var connection: PostgreSQLConnection?
  private let isConnecting = Atomic(false)

  init(address: String) { self.address = address }

  /// Runs `body` with the connection, once more with a new one if the former has ended.
  ///
  /// A task that is cancelled does not wait for a server that cannot be reached. `body` does not run then.
  func run<Value: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLConnection) throws -> Value
  ) async -> Result<Value, any Error> {
    let wait = WorkerWait<Value>()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        wait.begin(continuation)
        queue.async { wait.end(Result { try self.runHere(body, wait) }) }
      }
    } onCancel: {
      wait.cancel()
    }
  }

  private func runHere<Value: Sendable>(
    _ body: (PostgreSQLConnection) throws -> Value, _ wait: WorkerWait<Value>
  ) throws -> Value {
    if let connection {
      do {
        try wait.leaveConnecting()
        return try body(connection)
      } catch let error as PostgreSQLError where error.code == .lost {
        self.connection = nil
      } catch {
        if connection.isLost { self.connection = nil }
        throw error
      }
    }
    let connection = try connect(wait)
    defer { self.connection = connection.isLost ? nil : connection }
    try wait.leaveConnecting()
    return try body(connection)
  }

  private func connect<Value>(_ wait: WorkerWait<Value>) throws -> PostgreSQLConnection {
    isConnecting.store(true, ordering: .sequentiallyConsistent)
    defer { isConnecting.store(false, ordering: .sequentiallyConsistent) }
    try wait.enterConnecting()
    return try PostgreSQLConnection(address: address)
  }

  /// Ends the connection. One that is being made ends by itself, without anybody that waits for it.
  func close() async {
    guard !isConnecting.load(ordering: .sequentiallyConsistent) else {
      queue.async { self.connection = nil }
      return
    }
    await withCheckedContinuation { continuation in
      queue.async {
        self.connection = nil
        continuation.resume()
      }
    }
  }
}
