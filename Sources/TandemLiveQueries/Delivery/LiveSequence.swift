internal import TandemSQLite

/// What a ``LiveQuery`` delivers, one element after another, until the loop or its task ends.
///
/// Each iteration is a run of its own. See ``LiveQuery`` for what it promises.
public struct LiveSequence<Element: Sendable>: AsyncSequence, Sendable {
  private let start: @Sendable () -> any LiveRunning<Element>

  init<State: LiveState>(
    _ database: Database, _ state: @escaping @Sendable () -> State
  ) where State.Output == Element {
    start = { LiveRun(database, state: state()) }
  }

  /// Begins a run, which starts with its first element.
  public func makeAsyncIterator() -> Iterator { Iterator(run: start()) }

  /// A run; it ends with the last copy of this.
  public struct Iterator: AsyncIteratorProtocol {
    let run: any LiveRunning<Element>

    /// The next element; `nil` once the task is cancelled or the sequence has thrown.
    ///
    /// - Throws: ``DatabaseError`` if the query no longer fits the schema, a key is null or occurs
    ///   twice, or the database cannot be read or is closed; what an element's decoding throws.
    public mutating func next() async throws -> Element? { try await run.next() }

    /// The next element; see ``next()``.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws -> Element? {
      try await run.next()
    }
  }
}
