/// A state of a space: the number of a commit in one particular history.
///
/// The version counts the commits that the space accepted. The epoch names the history: it is drawn
/// when a space is created or deliberately restored. The mark is drawn with each commit. A space
/// that went back to an old backup and continued has another mark for the same version, so the
/// revision shows that the histories differ.
public struct SpaceRevision: Hashable, Sendable {
  /// The name of the history.
  package let epoch: SyncToken
  /// The number of commits, 0 for the empty space.
  public let version: Int
  /// The random bits of the commit that made this version.
  package let mark: UInt64

  /// The maximum version: no space reaches it, and a program can count beyond it.
  package static let maxVersion = 1 << 53

  /// A revision. The version is not negative.
  package init(epoch: SyncToken, version: Int, mark: UInt64) {
    self.epoch = epoch
    self.version = version
    self.mark = mark
  }

  /// True if a replica at another revision may lack something that the space has at this one.
  package func isNews(to known: SpaceRevision) -> Bool {
    self != known && (epoch != known.epoch || version >= known.version)
  }
}

extension SpaceRevision: CustomStringConvertible {
  /// Reads `epoch.version.mark` in the form of ``description``. Returns `nil` for any other text.
  public init?(_ text: some StringProtocol) {
    // By bytes: a step of a synchronization reads several revisions, and characters take longer.
    let parts = String(text).utf8.split(
      separator: UInt8(ascii: "."), omittingEmptySubsequences: false
    ).map { Substring($0) }
    guard parts.count == 3, let epoch = SyncToken(parts[0]), let version = Int(parts[1]),
      (0...SpaceRevision.maxVersion).contains(version), String(version) == parts[1],
      let mark = Hexadecimal.value(of: parts[2], as: UInt64.self)
    else { return nil }
    self.init(epoch: epoch, version: version, mark: mark)
  }

  /// The revision as `epoch.version.mark`: 32 hexadecimal digits, a decimal number, and 16
  /// hexadecimal digits.
  public var description: String { "\(epoch).\(version).\(Hexadecimal.text(of: mark))" }
}
