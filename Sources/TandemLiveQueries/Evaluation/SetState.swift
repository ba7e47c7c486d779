internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// The state of a run that delivers set differences.
struct SetState<Output: Sendable>: LiveState {
  private var result: KeyedResult
  private var isFirst = true
  private let present: @Sendable (SetDifference<Record>, _ isFirst: Bool) throws -> Output

  init(
    _ definition: QueryDefinition, startingFrom start: [Record],
    present: @escaping @Sendable (SetDifference<Record>, _ isFirst: Bool) throws -> Output
  ) {
    result = KeyedResult(definition, startingFrom: start)
    self.present = present
  }

  mutating func advance(_ changes: CommittedChanges, _ reading: LiveReading) throws -> Output? {
    let difference = try result.advance(changes, reading)
    defer { isFirst = false }
    return isFirst || !difference.isEmpty ? try present(difference, isFirst) : nil
  }
}
