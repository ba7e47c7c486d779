public import TandemDifferences
public import TandemRecords
public import TandemSQLite

extension LiveQuery {
  /// Brings an element that is presented up to date with the element as it was read, or replaces
  /// it.
  ///
  /// It runs off the consumer's actor. An error that it throws ends the sequence.
  public typealias Update =
    @Sendable (_ presented: inout Element, _ fetched: Element) throws -> Void

  /// The rows of the result in its order, at the start and each time the result changes.
  ///
  /// Order is that of ``listDifferences(in:delivery:deliversEmptyStart:)``.
  ///
  /// - Parameters:
  ///   - database: The database to read and to observe.
  ///   - delivery: The commits for which the rows are delivered.
  /// - Complexity: O(*n*) for *n* rows, per delivery; only rows that changed are decoded.
  public func values(
    in database: Database, delivery: LiveDelivery = .latest
  ) -> LiveSequence<[Element]> {
    LiveSequence(definition, in: database, delivery) { [decode] in ValuesState(decode: decode) }
  }

  /// The changes of the result as a set, without its order. Within each kind, elements ascend by
  /// key.
  ///
  /// The first difference leads from no rows to the present ones.
  ///
  /// - Parameters:
  ///   - database: The database to read and to observe.
  ///   - delivery: The commits for which a difference is delivered.
  ///   - deliversEmptyStart: True if the first difference comes even if it is empty, which
  ///     distinguishes an empty result from one that has not been read yet.
  ///   - onUpdate: Updates the element that is presented for a row that changed; without it, the
  ///     element is replaced by the row as it was read. With it, the old elements of updates and
  ///     the deleted ones are the values presented before; elements that were read are still
  ///     compared with each other, not with presented ones. If elements are `Identifiable`, it must
  ///     leave the presented element with the identity of the one that was read. For objects that
  ///     belong to an actor, such as views, see ``SetPresenter``.
  /// - Complexity: O(*d*) for *d* rows touched if the query is read row by row, O(*n*) otherwise.
  public func differences(
    in database: Database, delivery: LiveDelivery = .latest, deliversEmptyStart: Bool = true,
    onUpdate: Update? = nil
  ) -> LiveSequence<SetDifference<Element>> {
    differences(database, delivery, nil, deliversEmptyStart, onUpdate)
  }

  /// The changes of the result as a set from now on. The first difference is empty, and says that all commits from
  /// then on are observed.
  ///
  /// - Parameter database: The database to read and to observe.
  package func futureDifferences(in database: Database) -> LiveSequence<SetDifference<Element>> {
    LiveSequence(definition, in: database, .latest) { [decode, deliversRows] in
      SetState(
        needsStart: false, deliversEmptyStart: true,
        SetPresentation(
          startingFrom: nil, onUpdate: nil, deliversRows: deliversRows, decode: decode))
    }
  }

  private func differences(
    _ database: Database, _ delivery: LiveDelivery, _ start: StartingPoint<Element>?,
    _ deliversEmptyStart: Bool, _ onUpdate: Update?
  ) -> LiveSequence<SetDifference<Element>> {
    LiveSequence(definition, in: database, delivery) { [decode, deliversRows] in
      SetState(
        deliversEmptyStart: deliversEmptyStart,
        SetPresentation(
          startingFrom: start, onUpdate: onUpdate, deliversRows: deliversRows, decode: decode))
    }
  }

  /// The changes of the result as a list with moves, in its order.
  ///
  /// The first difference leads from the empty list to the present rows. Rows that are equal by the
  /// ORDER BY, and all rows of a query without one, are in the order of their keys.
  ///
  /// - Parameters:
  ///   - database: The database to read and to observe.
  ///   - delivery: The commits for which a difference is delivered.
  ///   - deliversEmptyStart: True if the first difference comes even if it is empty.
  /// - Complexity: O(*d* log *n*) for *d* rows touched among *n* if
  ///   ``LiveQueryExplanation/isListIncremental``, O(*n*) otherwise.
  public func listDifferences(
    in database: Database, delivery: LiveDelivery = .latest, deliversEmptyStart: Bool = true
  ) -> LiveSequence<ListDifference<Element>> {
    LiveSequence(definition, in: database, delivery) { [decode] in
      ListState(deliversEmptyStart: deliversEmptyStart, decode: decode)
    }
  }
}

// MARK: - Starting from elements

extension LiveQuery<Record> {
  /// The changes of the result as a set, starting from the given rows.
  ///
  /// - Parameters:
  ///   - database: The database to read and to observe.
  ///   - start: Rows as an earlier run delivered them; only the first difference depends on them.
  ///     Of two rows with the same key, one counts.
  ///   - delivery: The commits for which a difference is delivered.
  ///   - deliversEmptyStart: True if the first difference comes even if it is empty.
  ///   - onUpdate: Updates the element that is presented for a row that changed;
  ///     see ``differences(in:delivery:deliversEmptyStart:onUpdate:)``.
  public func differences(
    in database: Database, startingFrom start: [Record], delivery: LiveDelivery = .latest,
    deliversEmptyStart: Bool = true, onUpdate: Update? = nil
  ) -> LiveSequence<SetDifference<Record>> {
    LiveSequence(definition, in: database, delivery) {
      SetState(
        startingFrom: start, deliversEmptyStart: deliversEmptyStart,
        SetPresentation(onUpdate: onUpdate, decode: { $0 }))
    }
  }
}

extension LiveQuery where Element: Identifiable & Equatable, Element.ID: SendableMetatype {
  /// The changes of the result as a set, starting from the given elements.
  ///
  /// - Parameters:
  ///   - database: The database to read and to observe.
  ///   - start: Elements as an earlier run delivered them, or as they are presented; only the first
  ///     difference depends on them. If two have the same identity, the sequence throws
  ///     ``/TandemDifferences/IdentityViolation``.
  ///   - delivery: The commits for which a difference is delivered.
  ///   - deliversEmptyStart: True if the first difference comes even if it is empty.
  ///   - onUpdate: Updates the element that is presented for a row that changed;
  ///     see ``differences(in:delivery:deliversEmptyStart:onUpdate:)``. It is also called for elements of
  ///     `start` that are not equal to those read.
  @_disfavoredOverload  // Records are compared by their stored values.
  public func differences(
    in database: Database, startingFrom start: [Element], delivery: LiveDelivery = .latest,
    deliversEmptyStart: Bool = true, onUpdate: Update? = nil
  ) -> LiveSequence<SetDifference<Element>> {
    let point = StartingPoint(start) { ($0.id, $0) }
    return differences(database, delivery, point, deliversEmptyStart, onUpdate)
  }
}

extension LiveQuery where Element: DatabaseRecord {
  /// The changes of the result as a set, starting from the given records.
  ///
  /// Records are compared by their stored values, and identified by their key, so they need neither
  /// be `Equatable` nor `Identifiable`. Each record that is read is encoded again, once, so that a
  /// value that a column stores in another form does not count as changed.
  ///
  /// - Parameters:
  ///   - database: The database to read and to observe.
  ///   - start: Records as an earlier run delivered them, or as they are presented; only the first
  ///     difference depends on them. If two have the same key, the sequence throws
  ///     ``/TandemDifferences/IdentityViolation``.
  ///   - delivery: The commits for which a difference is delivered.
  ///   - deliversEmptyStart: True if the first difference comes even if it is empty.
  ///   - onUpdate: Updates the element that is presented for a row that changed;
  ///     see ``differences(in:delivery:deliversEmptyStart:onUpdate:)``.
  public func differences(
    in database: Database, startingFrom start: [Element], delivery: LiveDelivery = .latest,
    deliversEmptyStart: Bool = true, onUpdate: Update? = nil
  ) -> LiveSequence<SetDifference<Element>> {
    differences(database, delivery, StartingPoint(stored: start), deliversEmptyStart, onUpdate)
  }
}

/// The commits for which a live query delivers an element.
public enum LiveDelivery: Hashable, Sendable {
  /// Commits that were made since the consumer asked for the last element are delivered as one.
  case latest
  /// Each commit of this ``/TandemSQLite/Database`` is delivered by itself, if it changes the
  /// result. Commits by others, between two of them, may be delivered as one, or with the next one
  /// of this database.
  ///
  /// The query is read on the writer's connection, before `write` returns, which takes that time
  /// longer. Up to 10,000 elements wait for a slow consumer; with one more the sequence delivers
  /// these and then throws an error.
  case everyCommit
}

/// The elements that a ``LiveQuery`` delivers, until the loop or its task ends.
///
/// Each iteration is a run of its own, with the promises of ``LiveQuery``.
public struct LiveSequence<Element: Sendable>: AsyncSequence, Sendable {
  private let start: @Sendable () -> any LiveRunning<Element>

  init<State: LiveState>(
    _ definition: QueryDefinition, in database: Database, _ delivery: LiveDelivery,
    _ state: @escaping @Sendable () -> State
  ) where State.Output == Element {
    start = { LiveRun(definition, in: database, delivery, state: state()) }
  }

  /// Begins a run, which starts with its first element.
  public func makeAsyncIterator() -> Iterator { Iterator(run: start()) }

  /// A run, which ends with the last copy of this.
  public struct Iterator: AsyncIteratorProtocol {
    let run: any LiveRunning<Element>

    /// The next element; `nil` once the task is cancelled or the sequence has thrown.
    ///
    /// - Throws: ``/TandemSQLite/DatabaseError`` if the query no longer fits the schema, a key is
    ///   null or occurs twice, the database cannot be read or is closed, or, with code `tooBig`, if
    ///   too many elements wait (``LiveDelivery/everyCommit``); the error that decoding an element
    ///   throws.
    public mutating func next() async throws -> Element? { try await run.next() }

    /// The next element, as ``next()``.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws -> Element? {
      try await run.next()
    }
  }
}
