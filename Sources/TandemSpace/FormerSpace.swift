package import TandemSync

/// What became of the space that had a name. The name is kept, so that no copy of the space creates an empty one under
/// it: that would look to all copies as if the history of the space was lost.
package enum FormerSpace: Hashable, Sendable {
  case deleted
  /// The space has this name now.
  case renamed(String)

  /// The text that stores keep, which is no name of a space if it was deleted.
  package var text: String {
    switch self {
    case .deleted: "-"
    case .renamed(let name): name
    }
  }

  package init(text: String) { self = text == "-" ? .deleted : .renamed(text) }

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
    }
  }
}
