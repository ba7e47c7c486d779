/// Names one state of a remote's contents.
///
/// Two revisions name the same state exactly if they are equal; nothing else can be told from them,
/// and there is no order. A condition on a revision is a condition on both parts.
public struct Revision: Hashable, Sendable, Codable {
  /// Names a history. A remote draws a new one whenever its contents are created or restored, so
  /// commits of different epochs have no common ancestor.
  public var epoch: String
  /// Names one accepted push within that history.
  public var commit: String

  /// Puts a revision together from its two parts.
  public init(epoch: String, commit: String) {
    self.epoch = epoch
    self.commit = commit
  }
}

extension Revision: CustomStringConvertible {
  /// The epoch and the commit, with a full stop between.
  public var description: String { "\(epoch).\(commit)" }
}
