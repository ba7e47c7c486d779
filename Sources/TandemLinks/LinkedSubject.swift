import TandemChannels
import TandemRecords

/// A subject type that a link carries: its name on the wire, its ids, and the properties that travel.
///
/// ```swift
/// LinkedSubject(
///   "User", of: User.self, id: String.self,
///   properties: [LinkedProperty("name", \.name), LinkedProperty("age", \.age)])
/// ```
public struct LinkedSubject: Sendable {
  /// The name on the wire.
  public let name: String
  let type: ObjectIdentifier
  /// The id, name and value on the wire of a value that is sent, or `nil` if it does not travel; throws
  /// if it should, but cannot be encoded.
  let encode: @Sendable (BatchEntry, LinkStamp) throws -> ChannelMessage?
  /// The values of a message. Properties that are not known here are passed over.
  let decode: @Sendable (ChannelMessage) throws -> StampedBatch

  /// A subject whose channels have ids of the given type.
  public init<Subject, ID: Codable & Hashable & Sendable>(
    _ name: String, of _: Subject.Type, id _: ID.Type, properties: [LinkedProperty<Subject>]
  ) {
    self.name = name
    type = ObjectIdentifier(Subject.self)
    encode = { entry, stamp in
      guard let property = properties.first(where: { $0.path == entry.value.property }) else {
        return nil
      }
      guard let id = entry.address.id as? ID else { throw UnexpectedType() }
      return ChannelMessage(
        subject: name,
        id: try JSONValue(encoding: id, maxNestingDepth: ChannelMessage.maxValueNestingDepth),
        values: [property.name: try property.encode(entry.value)], stamps: [property.name: stamp],
        answers: entry.value.isAnswer ? [property.name] : [])
    }
    decode = { message in
      // Who types an id does not know whether it is a number or a text of digits.
      let id = try (try? message.id.decoded(as: ID.self)) ?? message.id.asText.decoded(as: ID.self)
      let channel = Channel<Subject>(id: id)
      var received = StampedBatch()
      for property in properties {
        guard let value = message.values[property.name] else { continue }
        try property.decode(value, channel, &received.batch)
        if message.answers.contains(property.name) { received.batch.markLastAsAnswer() }
        received.stamps.append(message.stamps[property.name])
      }
      return received
    }
  }
}

/// A channel's id, or a value, is of another type than the link was told.
private struct UnexpectedType: Error {}

/// Values from a peer.
struct StampedBatch: Sendable {
  var batch = ChannelBatch()
  /// One for each value, or `nil` for one without.
  var stamps: [LinkStamp?] = []

  mutating func append(_ other: StampedBatch) {
    batch.append(other.batch)
    stamps += other.stamps
  }
}

/// A property that a link carries.
public struct LinkedProperty<Subject>: Sendable {
  /// The name on the wire.
  public let name: String
  let path: any AnyKeyPath & Sendable
  let encode: @Sendable (BatchValue) throws -> JSONValue
  let decode: @Sendable (JSONValue, Channel<Subject>, inout ChannelBatch) throws -> Void

  /// A property with a name on the wire, which stays the same when the property is renamed.
  public init<Value: Codable & Sendable>(
    _ name: String, _ property: any KeyPath<Subject, Value> & Sendable
  ) {
    self.name = name
    path = property
    encode = { value in
      guard let value = value as? TypedBatchValue<Value> else { throw UnexpectedType() }
      return try JSONValue(
        encoding: value.value, maxNestingDepth: ChannelMessage.maxValueNestingDepth)
    }
    decode = { json, channel, batch in
      batch.set(property, to: try json.decoded(as: Value.self), on: channel)
    }
  }
}
