import Tandem

extension TransportError {
  /// The options that let pass what was refused, in parentheses; nothing if there are none.
  ///
  /// - Parameter stage: What was to be fetched; `nil` for the list.
  func advice(for stage: MirrorStage?) -> String {
    if maxByteCount != nil { return " (--max-bytes)" }
    return code == .uncertainEnd && stage == .content ? " (--length, --sha256)" : ""
  }
}

/// A list that cannot be had, with the options that would help.
struct ListRefusal: Error, CustomStringConvertible {
  var error: TransportError

  var description: String { "\(error)\(error.advice(for: nil))" }
}
