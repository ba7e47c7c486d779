import TandemRecords

/// A unit that goes over a connection of a link.
package enum LinkFrame: Hashable, Sendable {
  /// The first frame of each side. The hub that listens sends it in answer to that of the other side.
  case hello(LinkGreeting)
  /// Values that are delivered together.
  case values(LinkValues)

  /// The version of the format: the first byte of each frame's contents.
  package static let version: UInt8 = 5
}

/// The first frame of one side; see ``LinkSession``.
package enum LinkGreeting: Hashable, Sendable {
  /// From a hub that connects: its client number, and the last epoch and sequence number that it knows. A
  /// program that only passes by, such as a script, has no client number.
  case connecting(client: UInt64?, epoch: UInt64?, sequence: UInt64?)
  /// From a hub that listens: its epoch, and the number of the last frame that it ordered for this client.
  case listening(epoch: UInt64, acknowledged: UInt64)
}

/// The contents of a frame with values.
package struct LinkValues: Hashable, Sendable {
  package var messages: [ChannelMessage]
  /// From a hub that connects: the number of the frame. A frame without one is not acknowledged.
  package var number: UInt64?
  /// From a hub that listens: the number of the peer's last frame that was ordered before these values.
  package var acknowledged: UInt64?
  /// From a hub that listens: the peer has now got everything up to this sequence number.
  package var sequence: UInt64?

  package init(_ messages: [ChannelMessage], number: UInt64? = nil) {
    self.messages = messages
    self.number = number
  }
}

// MARK: - Bytes

extension LinkFrame {
  /// The number of levels to which a frame may nest: a value, in a message, in a list, in the frame.
  private static let maxNestingDepth = ChannelMessage.maxValueNestingDepth + 4
  /// The largest number that every reader of JSON keeps exactly.
  package static let maxNumber: UInt64 = 1 << 53

  /// The values of the frame.
  package var messages: [ChannelMessage] {
    if case .values(let values) = self { values.messages } else { [] }
  }

  /// The frame on the wire: the number of the bytes that follow, as four bytes, the most significant first;
  /// the version; and the JSON `{"hello":{…}}` or `{"values":[…],…}`.
  package func bytes(maxByteCount: Int) throws(ChannelLinkError) -> [UInt8] {
    let body = json.description.utf8
    guard body.count < maxByteCount, let count = UInt32(exactly: body.count + 1) else {
      throw ChannelLinkError(
        .tooLarge, "a frame of \(body.count + 1) bytes is larger than \(maxByteCount)")
    }
    return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) } + [Self.version] + body
  }

  private var json: JSONValue {
    switch self {
    case .hello(.connecting(let client, let epoch, let sequence)):
      .object([
        "hello": .object(
          Self.fields([
            ("client", client.map(Self.text)), ("epoch", epoch.map(Self.text)),
            ("sequence", sequence.map(Self.number)),
          ]))
      ])
    case .hello(.listening(let epoch, let acknowledged)):
      .object([
        "hello": .object([
          "acknowledged": Self.number(acknowledged), "epoch": Self.text(epoch),
        ])
      ])
    case .values(let values):
      .object(
        Self.fields([
          ("values", .array(values.messages.map(\.json))),
          ("number", values.number.map(Self.number)),
          ("acknowledged", values.acknowledged.map(Self.number)),
          ("sequence", values.sequence.map(Self.number)),
        ]))
    }
  }

  private static func fields(_ fields: [(String, JSONValue?)]) -> [String: JSONValue] {
    Dictionary(uniqueKeysWithValues: fields.compactMap { name, value in value.map { (name, $0) } })
  }

  private static func number(_ number: UInt64) -> JSONValue { .number("\(number)") }
  private static func text(_ number: UInt64) -> JSONValue { .string(String(number, radix: 16)) }

  /// The frame with the given contents.
  init(contents: ArraySlice<UInt8>) throws(ChannelLinkError) {
    guard contents.first == Self.version else {
      throw ChannelLinkError(
        .unknownVersion,
        "the peer does not speak version \(Self.version); use the same version of Tandem on both sides"
      )
    }
    let json: JSONValue
    do {
      json = try JSONValue(parsing: contents.dropFirst(), maxNestingDepth: Self.maxNestingDepth)
    } catch {
      throw ChannelLinkError(.malformed, "the peer sent no JSON: \(error)")
    }
    guard case .object(let fields) = json else { throw Self.malformed(json) }
    switch (fields["hello"], fields["values"]) {
    case (.object(let hello)?, nil): self = .hello(try LinkGreeting(hello))
    case (nil, .array(let elements)?):
      var values = LinkValues([])
      for element in elements { values.messages.append(try ChannelMessage(element)) }
      values.number = try Self.number(fields["number"])
      values.acknowledged = try Self.number(fields["acknowledged"])
      values.sequence = try Self.number(fields["sequence"])
      self = .values(values)
    default: throw Self.malformed(json)
    }
  }

  fileprivate static func number(_ json: JSONValue?) throws(ChannelLinkError) -> UInt64? {
    guard let json else { return nil }
    guard case .number(let digits) = json, let number = UInt64(digits), number <= maxNumber else {
      throw malformed(json)
    }
    return number
  }

  fileprivate static func text(_ json: JSONValue?) throws(ChannelLinkError) -> UInt64? {
    guard let json else { return nil }
    guard case .string(let text) = json, let number = UInt64(text, radix: 16) else {
      throw malformed(json)
    }
    return number
  }

  private static func malformed(_ json: JSONValue) -> ChannelLinkError {
    ChannelLinkError(.malformed, "the peer sent something that is no frame of a link: \(json.kind)")
  }
}

extension LinkGreeting {
  fileprivate init(_ fields: [String: JSONValue]) throws(ChannelLinkError) {
    let epoch = try LinkFrame.text(fields["epoch"])
    if let acknowledged = try LinkFrame.number(fields["acknowledged"]), let epoch {
      self = .listening(epoch: epoch, acknowledged: acknowledged)
    } else {
      self = .connecting(
        client: try LinkFrame.text(fields["client"]), epoch: epoch,
        sequence: try LinkFrame.number(fields["sequence"]))
    }
  }
}

extension JSONValue {
  /// The name of the value's type, for messages: the value itself may be large.
  fileprivate var kind: String {
    switch self {
    case .null: "null"
    case .bool: "a Boolean"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object with other fields"
    }
  }
}

// MARK: - Parts

extension LinkFrame {
  /// The bytes of a frame beside its messages, at most: the version, the names and three numbers.
  static let maxEnvelopeByteCount = 128

  /// True if a message fits into a frame, even if its values are offered.
  static func fits(_ message: ChannelMessage, maxByteCount: Int) -> Bool {
    var message = message
    message.offers = Set(message.values.keys)
    return message.json.textByteCount < maxByteCount - maxEnvelopeByteCount
  }

  /// The parts of a batch that fit into frames: one, if all of it fits, or as few as possible in order. The
  /// values of one channel that do not fit together go alone.
  ///
  /// - Precondition: each single value fits.
  static func parts(of batch: [ChannelMessage], maxByteCount: Int) -> [[ChannelMessage]] {
    let maxByteCount = maxByteCount - maxEnvelopeByteCount
    var parts: [[ChannelMessage]] = []
    var byteCount = Int.max
    for message in batch {
      let whole = message.json.textByteCount
      for message in whole <= maxByteCount ? [message] : message.split {
        // One more for the comma.
        let count = message.json.textByteCount + 1
        if byteCount > maxByteCount - count {
          parts.append([])
          byteCount = 0
        }
        parts[parts.count - 1].append(message)
        byteCount += count
      }
    }
    return parts
  }
}

/// Cuts the bytes of a stream into frames; holds at most one unfinished one.
package struct LinkFrameReader: Sendable {
  private let maxFrameByteCount: Int
  private var buffer: [UInt8] = []

  package init(maxFrameByteCount: Int) { self.maxFrameByteCount = maxFrameByteCount }

  /// True if the bytes so far end with a whole frame.
  package var isComplete: Bool { buffer.isEmpty }

  /// The frames that are complete with these bytes.
  ///
  /// - Throws: an error for the first frame that is malformed. The stream cannot be read any further then.
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
      frames.append(try LinkFrame(contents: buffer[start + 4..<start + 4 + count]))
      start += 4 + count
    }
    buffer.removeFirst(start)
    return frames
  }
}
