import Tandem

/// Writes the differences of `tandem diff`, under the names of both sides.
final class DifferenceOutput {
  private let output = OutputStream(descriptor: STDOUT_FILENO)
  private let labels: [String]
  private let isQuiet: Bool
  let isJSON: Bool
  /// True if a difference was written.
  private(set) var hasDifferences = false

  init(_ arguments: ParsedArguments) {
    labels = DiffCommand.labels(arguments)
    isQuiet = arguments[DiffCommand.Option.quiet]
    isJSON = arguments[DiffCommand.Option.json]
  }

  /// Notes a difference, and writes its line after the names of both sides.
  func write(_ line: @autoclosure () -> String) throws(OutputError) {
    if !hasDifferences, !isQuiet, !isJSON {
      let names = labels.map { $0.escapingControls() }
      try output.write("--- \(names[0])\n+++ \(names[1])\n")
    }
    hasDifferences = true
    if !isQuiet { try output.write(line()) }
  }

  /// Notes a difference that JSON shows.
  func noteDifference() { hasDifferences = true }

  /// Writes JSON, which the caller has noted as a difference if it is one.
  func write(json: (inout [UInt8]) -> Void) throws(OutputError) {
    if !isQuiet { try output.write(json) }
  }

  /// Writes the changes of records as the fields of an object that is open. The changes of two tables
  /// come in the order of their keys, with all kinds mixed, so a temporary file holds those of each kind
  /// until all are known.
  func writeFields<Shown: ShownRecord>(
    _ forEachChange: ((SetChange<Shown>) throws -> Void) throws -> Void
  ) throws {
    var inserted = try Spool()
    var updated = try Spool()
    var deleted = try Spool()
    try forEachChange { change in
      hasDifferences = true
      if isQuiet { return }
      switch change {
      case .inserted(let record):
        try inserted.append { $0.appendJSON { $0.write(record) } }
      case .updated(let old, let new):
        try updated.append { bytes in
          bytes.appendJSON { json in
            json.object { json in
              json.field("old", old)
              json.field("new", new)
            }
          }
        }
      case .deleted(let record):
        try deleted.append { $0.appendJSON { $0.write(record) } }
      }
    }
    if isQuiet { return }
    try output.write(#""inserted":["#)
    try inserted.copy(to: output)
    try output.write(#"],"updated":["#)
    try updated.copy(to: output)
    try output.write(#"],"deleted":["#)
    try deleted.copy(to: output)
    try output.write("]")
  }

  func flush() throws(OutputError) { try output.flush() }
}
