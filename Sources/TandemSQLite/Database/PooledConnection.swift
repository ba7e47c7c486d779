internal import Dispatch
internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// A connection that is lent out; opened when it is first used, if it is not open already.
///
/// Unchecked: ``session`` is touched only by whoever has borrowed the connection from its
/// ``ConnectionPool``, whose lock orders one borrower's work before the next one's.
final class PooledConnection: @unchecked Sendable {
  private let open: @Sendable () throws(DatabaseError) -> ConnectionSession
  private let queue = DispatchQueue(label: "tandem.database")
  private var session: ConnectionSession?
  /// The thread that uses the connection at the moment; 0 if none does.
  private let thread = Atomic<UInt>(0)

  init(open: @escaping @Sendable () throws(DatabaseError) -> ConnectionSession) {
    self.open = open
  }

  /// A connection that is open already.
  init(_ session: ConnectionSession) {
    self.session = session
    open = { preconditionFailure("it stays open until it is closed, and is not used after that") }
  }

  /// Whether this is called from within ``use(_:)``.
  var isUsedByThisThread: Bool { thread.load(ordering: .relaxed) == Self.currentThread }

  /// Runs `body` with the open connection on this thread, which must have borrowed it.
  func use<Value>(_ body: (ConnectionSession) throws -> Value) throws -> Value {
    thread.store(Self.currentThread, ordering: .relaxed)
    defer { thread.store(0, ordering: .relaxed) }
    if let session { return try body(session) }
    let session = try open()
    self.session = session
    return try body(session)
  }

  /// Runs `work` on the connection's own queue, so that no thread of the caller's is blocked.
  func enqueue(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }

  /// Closes the connection; it must be borrowed, and is not used again.
  func close() { session = nil }

  private static var currentThread: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }
}
