import TandemChannels
import TandemRecords

/// A subject type that a link carries: its name on the wire, the type of its ids, and the properties that travel.
///
/// <!-- Snippets/CodeInComments.swift subject -->
/// ```swift
/// let users = LinkedSubject(
///   "User", of: User.self, id: String.self,
///   properties: [LinkedProperty("name", \User.name), LinkedProperty("age", \User.age)])
/// ```
public struct LinkedSubject: Sendable {
  /// The name on the wire.
  public let name: String
  let type: ObjectIdentifier
  /// Encodes a value, or returns `nil` if its property does not travel.
  let encode: @Sendable (BatchEntry) throws -> ChannelMessage?
  /// Decodes the values of a message by the names of their properties. Unknown properties are skipped.
  let decode: @Sendable (ChannelMessage) throws -> [(name: String, entry: BatchEntry)]

  /// A subject whose channels have ids of the given type.
  public init<Subject, ID: Codable & Hashable & Sendable>(
    _ name: String, of _: Subject.Type, id _: ID.Type, properties: [LinkedProperty<Subject>]
  ) {
    self.name = name
    type = ObjectIdentifier(Subject.self)
    encode = { entry in
      guard let property = properties.first(where: { $0.path == entry.value.property }) else {
        return nil
      }
      guard let id = entry.address.id as? ID else { throw UnexpectedType() }
      return ChannelMessage(
        subject: name,
        id: try JSONValue(encoding: id, maxNestingDepth: ChannelMessage.maxValueNestingDepth),
        values: [property.name: try property.encode(entry.value)],
        answers: entry.value.isAnswer ? [property.name] : [])
    }
    decode = { message in
      // A person who types an id does not know if it is a number or a text of digits.
      let id = try (try? message.id.decoded(as: ID.self)) ?? message.id.asText.decoded(as: ID.self)
      let address = Channel<Subject>(id: id).address
      return try properties.compactMap { property in
        guard let json = message.values[property.name] else { return nil }
        let value = try property.decode(json, message.answers.contains(property.name))
        return (property.name, BatchEntry(address: address, value: value))
      }
    }
  }
}

/// The error for an id or a value of another type than the ``LinkedSubject`` says.
private struct UnexpectedType: Error {}

/// A property that a link carries.
public struct LinkedProperty<Subject>: Sendable {
  /// The name on the wire.
  public let name: String
  let path: any AnyKeyPath & Sendable
  let encode: @Sendable (BatchValue) throws -> JSONValue
  let decode: @Sendable (JSONValue, _ isAnswer: Bool) throws -> BatchValue

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
    decode = { json, isAnswer in
      TypedBatchValue(
        property: property, value: try json.decoded(as: Value.self), isAnswer: isAnswer)
    }
  }
}
