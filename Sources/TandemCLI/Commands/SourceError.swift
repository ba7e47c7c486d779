import Tandem

/// An error in a list, with the name of its source.
struct SourceError: Error, CustomStringConvertible {
  var source: RecordSource
  var error: RecordError

  var description: String { "\(source): \(error)" }
}
