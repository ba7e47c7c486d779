/// Learns of every transaction that a ``Database`` writes.
///
/// Calls come one at a time, on the thread that has the writer for itself, in this order: each
/// `didBegin` is followed by exactly one `didCommit` or `didRollback` before the next `didBegin`.
/// `didCommit` runs after the commit is durable and before `write` returns, outside any transaction, so
/// the observer may read through the connection what was just committed. It must not write, and must
/// leave no statement unfinished. What it cannot do, it reports on its own paths: it cannot throw.
package protocol CommitObserver: AnyObject, Sendable {
  /// The writer is this connection from now on: called once, outside transactions, when the observer
  /// is set. The place to install hooks.
  func didAttach(_ connection: DatabaseConnection)
  /// A transaction has begun.
  func didBegin(_ connection: DatabaseConnection)
  /// The transaction has been committed.
  func didCommit(_ connection: DatabaseConnection)
  /// The transaction has been rolled back, whole. (Savepoints within are not reported.)
  func didRollback(_ connection: DatabaseConnection)
  /// The writer is about to close, or the observer to be replaced: the place to remove hooks.
  func willDetach(_ connection: DatabaseConnection)
}
