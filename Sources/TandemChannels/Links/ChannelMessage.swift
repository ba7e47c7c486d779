/// What a link carries: new values of properties of one channel, to be delivered together.
package struct ChannelMessage: Hashable, Sendable {
  package var subject: String
  package var id: JSONValue
  package var values: [String: JSONValue]
  /// When the values were sent, of those of which it is known.
  package var stamps: [String: LinkStamp]

  package init(
    subject: String, id: JSONValue, values: [String: JSONValue], stamps: [String: LinkStamp] = [:]
  ) {
    self.subject = subject
    self.id = id
    self.values = values
    self.stamps = stamps
  }

  /// Whether the message is for the channel with an id that somebody typed, who does not know whether it
  /// is a number or a text of digits.
  package func isFor(typedID typed: JSONValue) -> Bool { id == typed || id == typed.asText }

  /// Takes the values of another message of the same channel in the place of those it has.
  mutating func take(_ newer: ChannelMessage) {
    for name in newer.values.keys { stamps[name] = nil }
    values.merge(newer.values) { $1 }
    stamps.merge(newer.stamps) { $1 }
  }

  /// This message without some of its values.
  func removing(_ names: [String]) -> ChannelMessage {
    var result = self
    for name in names {
      result.values[name] = nil
      result.stamps[name] = nil
    }
    return result
  }
}

// MARK: - Frames

/// Why a link cannot go on.
public struct ChannelLinkError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of failure.
  public enum Code: Hashable, Sendable {
    /// The peer sent what is no message of a link.
    case malformed
    /// The peer sent, or was to be sent, a message of more than ``ChannelLinkOptions/maxFrameByteCount``.
    case tooLarge
    /// The peer speaks another version.
    case unknownVersion
    /// The connection could not be made, or broke.
    case connection
  }

  /// The kind of failure.
  public var code: Code
  /// What happened.
  public var message: String

  /// A failure of the given kind.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// What happened.
  public var description: String { message }
}

extension ChannelMessage {
  /// The version of the format, which is the first byte of each frame's contents.
  package static let version: UInt8 = 2

  /// The message on the wire: how many bytes follow, as four bytes, the most significant first; the
  /// version; and `{"subject":…,"id":…,"values":{…},"stamps":{…}}`, without stamps if there are none.
  package func frame(maxByteCount: Int) throws(ChannelLinkError) -> [UInt8] {
    var fields: [String: JSONValue] = [
      "subject": .string(subject), "id": id, "values": .object(values),
    ]
    if !stamps.isEmpty { fields["stamps"] = .object(stamps.mapValues(\.json)) }
    let body = JSONValue.object(fields).description.utf8
    guard body.count < maxByteCount, let count = UInt32(exactly: body.count + 1) else {
      throw ChannelLinkError(.tooLarge, "a message for \(subject) \(id) is too large")
    }
    return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) } + [Self.version] + body
  }

  /// The message in a frame's contents.
  init(contents: ArraySlice<UInt8>) throws(ChannelLinkError) {
    guard contents.first == Self.version else {
      throw ChannelLinkError(.unknownVersion, "the peer does not speak version \(Self.version)")
    }
    let json: JSONValue
    do {
      json = try JSONValue(parsing: contents.dropFirst())
    } catch {
      throw ChannelLinkError(.malformed, "the peer sent no JSON: \(error)")
    }
    guard case .object(let fields) = json, case .string(let subject)? = fields["subject"],
      let id = fields["id"], case .object(let values)? = fields["values"]
    else { throw ChannelLinkError(.malformed, "the peer sent no message of a channel") }
    self.init(
      subject: subject, id: id, values: values, stamps: try Self.stamps(fields["stamps"]))
  }

  private static func stamps(_ json: JSONValue?) throws(ChannelLinkError) -> [String: LinkStamp] {
    guard let json else { return [:] }
    guard case .object(let fields) = json else {
      throw ChannelLinkError(.malformed, "the peer sent stamps that are none")
    }
    var stamps: [String: LinkStamp] = [:]
    for (name, json) in fields {
      guard let stamp = LinkStamp(json) else {
        throw ChannelLinkError(.malformed, "the peer sent what is no stamp: \(json)")
      }
      stamps[name] = stamp
    }
    return stamps
  }
}

/// Cuts the bytes of a stream into messages; holds at most one unfinished frame.
package struct ChannelMessageReader: Sendable {
  private let maxFrameByteCount: Int
  private var buffer: [UInt8] = []

  package init(maxFrameByteCount: Int) { self.maxFrameByteCount = maxFrameByteCount }

  /// Whether the bytes so far end with a whole message.
  package var isComplete: Bool { buffer.isEmpty }

  /// The messages that are complete with these bytes.
  ///
  /// - Throws: for the first frame that is none; the stream is of no use then.
  package mutating func messages(
    adding bytes: some Sequence<UInt8>
  ) throws(ChannelLinkError) -> [ChannelMessage] {
    buffer.append(contentsOf: bytes)
    var messages: [ChannelMessage] = []
    var start = 0
    while buffer.count - start >= 4 {
      let count = buffer[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
      guard count <= maxFrameByteCount else {
        throw ChannelLinkError(.tooLarge, "the peer sent a message of \(count) bytes")
      }
      guard count > 0 else { throw ChannelLinkError(.malformed, "the peer sent an empty frame") }
      guard buffer.count - start - 4 >= count else { break }
      messages.append(try ChannelMessage(contents: buffer[start + 4..<start + 4 + count]))
      start += 4 + count
    }
    buffer.removeFirst(start)
    return messages
  }
}
