internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// The state of a run that delivers set differences.
struct SetState<Element: Sendable>: LiveState {
  private var result: KeyedResult
  private var presentation: SetPresentation<Element>
  private var isSilent: Bool

  init(
    _ definition: QueryDefinition, startingFrom start: [Record] = [], deliversEmptyStart: Bool,
    _ presentation: SetPresentation<Element>
  ) {
    result = KeyedResult(definition, startingFrom: start)
    self.presentation = presentation
    isSilent = !deliversEmptyStart
  }

  mutating func advance(
    _ changes: CommittedChanges, _ reading: LiveReading
  ) throws -> SetDifference<Element>? {
    let difference = try presentation.present(try result.advance(changes, reading), result)
    defer { isSilent = true }
    return isSilent && difference.isEmpty ? nil : difference
  }
}
