package import TandemRecords

/// New values of properties of one channel, as a link carries them.
package struct ChannelMessage: Hashable, Sendable {
  package var subject: String
  package var id: JSONValue
  package var values: [String: JSONValue]
  /// The names of the values that a model has taken in place of others, and that no model answers.
  package var answers: Set<String>
  /// The names of the values that the receiver takes only if it remembers none; see ``LinkSession``.
  package var offers: Set<String>

  /// The subject and id of a channel.
  package struct Address: Hashable, Sendable {
    package var subject: String
    package var id: JSONValue
  }

  /// The number of levels to which the id and the values may nest.
  package static let maxValueNestingDepth = JSONValue.maxNestingDepth - 2

  package init(
    subject: String, id: JSONValue, values: [String: JSONValue], answers: Set<String> = [],
    offers: Set<String> = []
  ) {
    self.subject = subject
    self.id = id
    self.values = values
    self.answers = answers
    self.offers = offers
  }

  package var address: Address { Address(subject: subject, id: id) }

  /// True if the message is for the channel with an id that was typed, and that may be a number or a text
  /// of digits.
  package func isFor(typedID typed: JSONValue) -> Bool { id == typed || id == typed.asText }

  /// Replaces values by those of a newer message of the same channel, and adds the others.
  mutating func merge(_ newer: ChannelMessage) {
    remove(newer.values.keys)
    values.merge(newer.values) { $1 }
    answers.formUnion(newer.answers)
    offers.formUnion(newer.offers)
  }

  /// Removes the values of the given names.
  mutating func remove(_ names: some Sequence<String>) {
    for name in names {
      values[name] = nil
      answers.remove(name)
      offers.remove(name)
    }
  }

  /// The message without offered values, or `nil` if it has no others.
  var withoutOffers: ChannelMessage? {
    var message = self
    message.remove(offers)
    return message.values.isEmpty ? nil : message
  }

  /// One message for each value, in the order of the names.
  var split: [ChannelMessage] {
    values.sorted { $0.key < $1.key }.map { name, value in
      ChannelMessage(
        subject: subject, id: id, values: [name: value], answers: answers.intersection([name]),
        offers: offers.intersection([name]))
    }
  }
}

extension ChannelMessage: CustomStringConvertible {
  /// The message as JSON.
  package var description: String { json.description }
}

// MARK: - Sizes

extension ChannelMessage {
  /// The approximate number of bytes of memory that the message takes while it waits.
  var waitingByteCount: Int {
    values.reduce(subject.utf8.count + id.waitingByteCount) {
      $0 + $1.key.utf8.count + $1.value.waitingByteCount
    }
  }
}

extension JSONValue {
  /// The bytes of a value beside its text: the enumeration, and as much for its place in a table.
  private static let placeByteCount = 32

  fileprivate var waitingByteCount: Int {
    switch self {
    case .null, .bool: return Self.placeByteCount
    case .number(let text), .string(let text): return Self.placeByteCount + text.utf8.count
    case .array(let elements):
      return elements.reduce(Self.placeByteCount) { $0 + $1.waitingByteCount }
    case .object(let fields):
      return fields.reduce(Self.placeByteCount) {
        $0 + $1.key.utf8.count + $1.value.waitingByteCount
      }
    }
  }
}

// MARK: - JSON

extension ChannelMessage {
  /// `{"subject":…,"id":…,"values":{…},"answers":[…],"offers":[…]}`, without answers and offers if there are
  /// none.
  var json: JSONValue {
    var fields: [String: JSONValue] = [
      "subject": .string(subject), "id": id, "values": .object(values),
    ]
    if !answers.isEmpty { fields["answers"] = .array(answers.sorted().map(JSONValue.string)) }
    if !offers.isEmpty { fields["offers"] = .array(offers.sorted().map(JSONValue.string)) }
    return .object(fields)
  }

  init(_ json: JSONValue) throws(ChannelLinkError) {
    guard case .object(let fields) = json, case .string(let subject)? = fields["subject"],
      let id = fields["id"], case .object(let values)? = fields["values"]
    else { throw ChannelLinkError(.malformed, "the peer sent no message of a channel") }
    self.init(
      subject: subject, id: id, values: values, answers: try Self.names(fields["answers"]),
      offers: try Self.names(fields["offers"]))
  }

  private static func names(_ json: JSONValue?) throws(ChannelLinkError) -> Set<String> {
    guard let json else { return [] }
    guard case .array(let elements) = json else {
      throw ChannelLinkError(.malformed, "the peer sent \(json) in place of a list of names")
    }
    return Set(elements.compactMap { if case .string(let name) = $0 { name } else { nil } })
  }
}
