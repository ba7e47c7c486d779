public import TandemDifferences
public import TandemRecords
public import TandemSQLite

extension LiveQuery {
  /// The rows of the result, in its order, each time it changes.
  ///
  /// - Complexity: O(*n*) for *n* rows, per delivery.
  public func values(in database: Database) -> LiveSequence<[Element]> {
    LiveSequence(database) { [definition, decode] in
      ListState(definition) { _, new in try new.map { try decode($0.record) } }
    }
  }

  /// What changed, as a set: the order of the result does not matter. Within each kind, elements
  /// ascend by key.
  ///
  /// The first difference leads from no rows to those there are.
  ///
  /// - Complexity: O(*d*) for *d* rows touched if the query is read row by row, O(*n*) otherwise.
  public func differences(in database: Database) -> LiveSequence<SetDifference<Element>> {
    LiveSequence(database) { [definition, decode] in
      SetState(definition, startingFrom: []) { difference, _ in try difference.map(decode) }
    }
  }

  /// What changed, as a list with moves, in the order of the result.
  ///
  /// The first difference leads from the empty list to the rows there are.
  ///
  /// - Complexity: O(*n*) for *n* rows, per delivery.
  public func listDifferences(in database: Database) -> LiveSequence<ListDifference<Element>> {
    LiveSequence(database) { [definition, decode] in
      ListState(definition) { old, new in
        try ListDifference(from: old, to: new, identifiedBy: \.key, by: { $0.record == $1.record })
          .map { try decode($0.record) }
      }
    }
  }
}

extension LiveQuery<Record> {
  /// What changed, as a set, beginning with what changed since the given rows.
  ///
  /// - Parameter start: Rows as an earlier run delivered them; only the first difference depends on
  ///   them. Of two rows with the same key, one counts.
  public func differences(
    in database: Database, startingFrom start: [Record]
  ) -> LiveSequence<SetDifference<Record>> {
    LiveSequence(database) { [definition] in
      SetState(definition, startingFrom: start) { difference, _ in difference }
    }
  }
}

extension LiveQuery where Element: Identifiable & Equatable {
  /// What changed, as a set, beginning with what changed since the given elements.
  ///
  /// - Parameter start: Elements as an earlier run delivered them; only the first difference depends
  ///   on them. If two have the same identity, the sequence throws ``IdentityViolation``.
  public func differences(
    in database: Database, startingFrom start: [Element]
  ) -> LiveSequence<SetDifference<Element>> {
    LiveSequence(database) { [definition, decode] in
      SetState(definition, startingFrom: []) { difference, isFirst in
        let difference = try difference.map(decode)
        return isFirst ? try SetDifference(from: start, to: difference.inserted) : difference
      }
    }
  }
}
