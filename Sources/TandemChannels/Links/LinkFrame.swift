/// What goes over a connection of a link.
package enum LinkFrame: Hashable, Sendable {
  /// How far the sender's clock has come: the highest counter of a stamp that it has given or seen;
  /// `nil` from one who has no clock, because it neither keeps values nor hands them on.
  ///
  /// It is the first that each side sends, so that whoever is behind, as after a new start, is not
  /// taken for one who repeats what is old. Values are sent once the peer's has come. It may come
  /// again, whenever the clock has leapt.
  case hello(counter: UInt64?)
  /// New values of a channel.
  case values(ChannelMessage)

  /// The version of the format, which is the first byte of each frame's contents.
  package static let version: UInt8 = 3

  /// The frame on the wire: how many bytes follow, as four bytes, the most significant first; the
  /// version; and `{"hello":7}` or the JSON of a message.
  package func bytes(maxByteCount: Int) throws(ChannelLinkError) -> [UInt8] {
    let body = json.description.utf8
    guard body.count < maxByteCount, let count = UInt32(exactly: body.count + 1) else {
      throw ChannelLinkError(.tooLarge, "\(name) is too large")
    }
    return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) } + [Self.version] + body
  }

  /// Whether the frame has no more bytes than it may.
  func fits(maxByteCount: Int) -> Bool {
    let count = json.textByteCount
    return count < maxByteCount && UInt32(exactly: count + 1) != nil
  }

  private var name: String {
    switch self {
    case .hello: "a greeting"
    case .values(let message): "a message for \(message.subject) \(message.id)"
    }
  }

  private var json: JSONValue {
    switch self {
    case .hello(let counter): .object(["hello": counter.map { .number("\($0)") } ?? .null])
    case .values(let message): message.json
    }
  }

  /// The frame with the given contents.
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
    guard case .object(let fields) = json else {
      throw ChannelLinkError(.malformed, "the peer sent no message of a channel")
    }
    if let hello = fields["hello"] {
      self = .hello(counter: try Self.counter(hello))
    } else {
      self = .values(try ChannelMessage(fields))
    }
  }

  private static func counter(_ json: JSONValue) throws(ChannelLinkError) -> UInt64? {
    if json == .null { return nil }
    guard case .number(let digits) = json, let counter = UInt64(digits),
      counter <= LinkStamp.maxCounter
    else { throw ChannelLinkError(.malformed, "the peer sent a greeting that is none: \(json)") }
    return counter
  }
}

/// Cuts the bytes of a stream into frames; holds at most one unfinished one.
package struct LinkFrameReader: Sendable {
  private let maxFrameByteCount: Int
  private var buffer: [UInt8] = []
  private var hasBegun = false

  package init(maxFrameByteCount: Int) { self.maxFrameByteCount = maxFrameByteCount }

  /// Whether the bytes so far end with a whole frame.
  package var isComplete: Bool { buffer.isEmpty }

  /// The frames that are complete with these bytes. The first of the stream is a greeting.
  ///
  /// - Throws: for the first frame that is none; the stream is of no use then.
  package mutating func frames(
    adding bytes: some Sequence<UInt8>
  ) throws(ChannelLinkError) -> [LinkFrame] {
    buffer.append(contentsOf: bytes)
    var frames: [LinkFrame] = []
    var start = 0
    while buffer.count - start >= 4 {
      let count = buffer[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
      guard count <= maxFrameByteCount else {
        throw ChannelLinkError(.tooLarge, "the peer sent a message of \(count) bytes")
      }
      guard count > 0 else { throw ChannelLinkError(.malformed, "the peer sent an empty frame") }
      guard buffer.count - start - 4 >= count else { break }
      frames.append(try frame(contents: buffer[start + 4..<start + 4 + count]))
      start += 4 + count
    }
    buffer.removeFirst(start)
    return frames
  }

  private mutating func frame(contents: ArraySlice<UInt8>) throws(ChannelLinkError) -> LinkFrame {
    let frame = try LinkFrame(contents: contents)
    if case .values = frame, !hasBegun {
      throw ChannelLinkError(.malformed, "the peer sent values before its greeting")
    }
    hasBegun = true
    return frame
  }
}
