/// Why a client could not be brought in step with a remote. Errors of the remote, of a resolver and
/// of a policy are passed on as they are.
public enum SynchronizationError: Error, Hashable, Sendable {
  /// Others kept being quicker: the push was rejected in this many rounds. Try again later.
  case tooManyRounds(Int)
  /// The policy said to adopt a remote that has no contents. Nothing was changed.
  case nothingToAdopt
}

extension SynchronizationError: CustomStringConvertible {
  /// A sentence that says what happened.
  public var description: String {
    switch self {
    case .tooManyRounds(let count): "the push was rejected in \(count) rounds; try again later"
    case .nothingToAdopt: "the remote has no contents to adopt"
    }
  }
}
