package import TandemSync

/// What became of the space that had a name. The name is kept, so that no copy of the space creates an empty one under
/// it: that would look to all copies as if the history of the space was lost.
package enum FormerSpace: Hashable, Sendable {
  case deleted
  /// The space has this name now.
  case renamed(String)
  /// The space is one of another server, of which this one has no complete copy.
  case incomplete

  /// The text that stores keep, which is the name of a space only if it was renamed.
  package var text: String {
    switch self {
    case .deleted: "-"
    case .renamed(let name): name
    case .incomplete: "+"
    }
  }

  package init(text: String) {
    switch text {
    case "-": self = .deleted
    case "+": self = .incomplete
    default: self = .renamed(text)
    }
  }

  /// The refusal of requests for the name.
  package func refusal(of name: String) -> SyncRequestError {
    switch self {
    case .deleted:
      SyncRequestError(
        .unknownSpace,
        "the space \(name) was deleted; the rows of its copies stay in their files, which can be detached"
      )
    case .renamed(let successor):
      SyncRequestError(
        .unknownSpace,
        "the space \(name) is called \(successor) now; attach this file to it, which keeps all edits"
      )
    case .incomplete:
      SyncRequestError(
        .unknownSpace,
        "the server took the place of another one, whose space \(name) it had not copied completely; "
          + "the operator can bring the space from the disk of the other server")
    }
  }
}
