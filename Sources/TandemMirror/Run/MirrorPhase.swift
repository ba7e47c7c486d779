/// The phase of a mirror.
public enum MirrorPhase: Hashable, Sendable {
  /// No run is in progress.
  case idle
  /// A run has started: it lists the local identities and waits for the first page of the source.
  case listing
  /// This many items of the source have been listed and are being compared; further pages may
  /// follow.
  case comparing(sourceCount: Int)
  /// Items are being transferred.
  case transferring(MirrorProgress)
  /// This many items are being removed.
  case removing(count: Int)
  /// The last step, ``MirrorProcessor/end``, is in progress.
  case ending
}
