internal import TandemSQLite

/// The states of something in a replica's file: the present one, and each later one that differs.
///
/// Each iterator observes the file by itself, including changes by other programs. States in quick
/// succession may be skipped; the last one never is. While another program keeps the file locked,
/// an iterator waits. It ends with an error when the file is detached or closed, and when the task
/// is cancelled.
public struct ReplicaSequence<Element: Hashable & Sendable>: AsyncSequence, Sendable {
  private let database: Database
  private let tables: @Sendable (ReplicaTables) throws -> [String]
  private let read: @Sendable (ReplicaTables) throws -> Element

  /// - Parameters:
  ///   - tables: The tables on which the states depend.
  ///   - read: The present state.
  init(
    _ database: Database, _ tables: @escaping @Sendable (ReplicaTables) throws -> [String],
    read: @escaping @Sendable (ReplicaTables) throws -> Element
  ) {
    self.database = database
    self.tables = tables
    self.read = read
  }

  /// An iterator that begins with the present state.
  public func makeAsyncIterator() -> Iterator { Iterator(sequence: self) }

  /// The iterator of a ``ReplicaSequence``.
  public struct Iterator: AsyncIteratorProtocol {
    let sequence: ReplicaSequence
    private var watch: ReplicaWatch?
    private var last: Element?

    init(sequence: ReplicaSequence) { self.sequence = sequence }

    /// The next state; it is never `nil`.
    ///
    /// - Throws: ``ReplicaError``; `DatabaseError`; `CancellationError`.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws -> Element? {
      while true {
        let watch: ReplicaWatch
        if let current = self.watch {
          watch = current
          try await watch.wait()
        } else {
          watch = try await ReplicaWatch(sequence.database, sequence.tables)
          self.watch = watch
        }
        let element = try await watch.read(sequence.database, sequence.read)
        guard element != last else { continue }
        last = element
        return element
      }
    }
  }
}
