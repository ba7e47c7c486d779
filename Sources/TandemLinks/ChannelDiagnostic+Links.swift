public import TandemChannels

extension ChannelDiagnostic.Kind {
  /// More values than ``ChannelLinkOptions/maxWaitingChannelCount`` or
  /// ``ChannelLinkOptions/maxWaitingByteCount`` allows waited for a peer that is slow or away, and these had
  /// waited longest.
  public static let peerTooSlow = Self(
    "peerTooSlow", "was not sent to a peer: it is slow or away, and too many values wait for it")
  /// The values that were sent together are more than may wait for a peer, however fast it is.
  public static let batchTooLarge = Self(
    "batchTooLarge",
    "was not sent to a peer: with the other values of its batch, it is more than may wait for a peer; "
      + "send less at a time, or let the hub remember it")
  /// The value, with its channel's id, is larger than ``ChannelLinkOptions/maxFrameByteCount``.
  public static let tooLargeForLink = Self(
    "tooLargeForLink", "was not sent to a peer: it does not fit into a message")
  /// The value or the channel's id cannot be encoded or nests too deep, or the id is of another type than
  /// the ``LinkedSubject`` says.
  public static let notEncodable = Self(
    "notEncodable",
    "was not sent to a peer: it or the id cannot be encoded or nests too deep, or the id is not of the "
      + "type of the linked subject")
}
