import TandemRecords

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
  /// New values of several channels, to be delivered together.
  case batch([ChannelMessage])

  /// The version of the format, which is the first byte of each frame's contents.
  package static let version: UInt8 = 4

  /// How deep a frame may nest: a value, in a message, in a batch.
  private static let maxNestingDepth = ChannelMessage.maxValueNestingDepth + 4

  /// The new values that the frame brings, to be delivered together.
  package var messages: [ChannelMessage] {
    switch self {
    case .hello: []
    case .values(let message): [message]
    case .batch(let messages): messages
    }
  }

  /// The frame on the wire: how many bytes follow, as four bytes, the most significant first; the
  /// version; and `{"hello":7}`, the JSON of a message, or `{"batch":[…]}` with those of several.
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
    case .batch: "a batch"
    }
  }

  private var json: JSONValue {
    switch self {
    case .hello(let counter): .object(["hello": counter.map { .number("\($0)") } ?? .null])
    case .values(let message): message.json
    case .batch(let messages): .object(["batch": .array(messages.map(\.json))])
    }
  }

  /// The frame with the given contents.
  init(contents: ArraySlice<UInt8>) throws(ChannelLinkError) {
    guard contents.first == Self.version else {
      throw ChannelLinkError(.unknownVersion, "the peer does not speak version \(Self.version)")
    }
    let json: JSONValue
    do {
      json = try JSONValue(parsing: contents.dropFirst(), maxNestingDepth: Self.maxNestingDepth)
    } catch {
      throw ChannelLinkError(.malformed, "the peer sent no JSON: \(error)")
    }
    guard case .object(let fields) = json else {
      throw ChannelLinkError(.malformed, "the peer sent no message of a channel")
    }
    if let hello = fields["hello"] {
      self = .hello(counter: try Self.counter(hello))
    } else if let batch = fields["batch"] {
      self = .batch(try Self.messages(batch))
    } else {
      self = .values(try ChannelMessage(json))
    }
  }

  private static func messages(_ json: JSONValue) throws(ChannelLinkError) -> [ChannelMessage] {
    guard case .array(let elements) = json else {
      throw ChannelLinkError(.malformed, "the peer sent a batch that is none")
    }
    var messages: [ChannelMessage] = []
    for element in elements { messages.append(try ChannelMessage(element)) }
    return messages
  }

  private static func counter(_ json: JSONValue) throws(ChannelLinkError) -> UInt64? {
    if json == .null { return nil }
    guard case .number(let digits) = json, let counter = UInt64(digits),
      counter <= LinkStamp.maxCounter
    else { throw ChannelLinkError(.malformed, "the peer sent a greeting that is none: \(json)") }
    return counter
  }
}

// MARK: - Batches

extension LinkFrame {
  /// The frames for values that are to arrive together: one, if they fit into it; otherwise as many as it
  /// takes, of which each holds as much as it can. Values of one channel that do not fit into one together
  /// go alone.
  static func frames(
    for batch: [ChannelMessage], maxByteCount: Int
  ) -> (frames: [LinkFrame], misfits: [ChannelMessage]) {
    var packing = FramePacking(maxByteCount: maxByteCount)
    for message in batch {
      if !packing.add(message) {
        for part in message.split where !packing.add(part) { packing.misfits.append(part) }
      }
    }
    packing.finishFrame()
    return (packing.frames, packing.misfits)
  }
}

/// Values on their way into frames.
private struct FramePacking {
  let maxByteCount: Int
  private(set) var frames: [LinkFrame] = []
  var misfits: [ChannelMessage] = []
  private var messages: [ChannelMessage] = []
  private var byteCount = 0

  /// What a batch takes beside its messages, and each of these beside its text, at most.
  private static let (batchByteCount, separatorByteCount) = ("{\"batch\":[]}".utf8.count, 1)

  init(maxByteCount: Int) { self.maxByteCount = min(maxByteCount, Int(UInt32.max)) }

  /// Adds a message to the last frame, or to a new one; returns whether it fits into any.
  mutating func add(_ message: ChannelMessage) -> Bool {
    let count = message.json.textByteCount
    guard count < maxByteCount else { return false }
    byteCount += count + Self.separatorByteCount
    if Self.batchByteCount + byteCount >= maxByteCount {
      finishFrame()
      byteCount = count + Self.separatorByteCount
    }
    messages.append(message)
    return true
  }

  mutating func finishFrame() {
    if !messages.isEmpty {
      frames.append(messages.count == 1 ? .values(messages[0]) : .batch(messages))
    }
    messages = []
    byteCount = 0
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
    switch frame {
    case .hello: hasBegun = true
    case .values, .batch:
      guard hasBegun else {
        throw ChannelLinkError(.malformed, "the peer sent values before its greeting")
      }
    }
    return frame
  }
}
