internal import Dispatch
internal import Synchronization
internal import SystemLibrary

/// A connection of a pool, opened when it is first used.
///
/// Unchecked: `connection` is touched only by whoever has checked this out of its
/// ``ConnectionPool``, whose lock orders one user's work before the next one's.
final class PooledConnection: @unchecked Sendable {
  private let open: @Sendable () throws(DatabaseError) -> DatabaseConnection
  private let queue = DispatchQueue(label: "tandem.database")
  private var connection: DatabaseConnection?
  /// The thread that uses the connection at the moment; 0 if none does.
  private let thread = Atomic<UInt>(0)

  /// A connection that the first use opens.
  init(open: @escaping @Sendable () throws(DatabaseError) -> DatabaseConnection) {
    self.open = open
  }

  /// A connection that is open already.
  init(_ connection: DatabaseConnection) {
    self.connection = connection
    open = { preconditionFailure("it stays open until it is closed, and is not used after that") }
  }

  /// True inside ``use(_:)`` on this thread.
  var isUsedByThisThread: Bool { thread.load(ordering: .relaxed) == Self.currentThread }

  /// Runs `body` with the open connection on this thread, which must have checked it out.
  func use<Value>(_ body: (DatabaseConnection) throws -> Value) throws -> Value {
    thread.store(Self.currentThread, ordering: .relaxed)
    defer { thread.store(0, ordering: .relaxed) }
    if let connection { return try body(connection) }
    let connection = try open()
    self.connection = connection
    return try body(connection)
  }

  /// Runs `work` on the connection's own queue, so that no thread of the caller's is blocked.
  func enqueue(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }

  /// Closes the connection, which must be checked out, for good.
  func close(after body: (DatabaseConnection) -> Void = { _ in }) {
    if let connection { body(connection) }
    connection = nil
  }

  private static var currentThread: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }
}
