package import TandemRecords

/// What a link carries: new values of properties of one channel, to be delivered together.
package struct ChannelMessage: Hashable, Sendable {
  package var subject: String
  package var id: JSONValue
  package var values: [String: JSONValue]
  /// When the values were sent, of those of which it is known.
  package var stamps: [String: LinkStamp]
  /// The properties whose values a model has given in answer to others, which are not to be answered.
  package var answers: Set<String>

  /// Which channel a message is for.
  struct Address: Hashable {
    var subject: String
    var id: JSONValue
  }

  /// How deep the id and the values may nest.
  package static let maxValueNestingDepth = JSONValue.maxNestingDepth - 2

  package init(
    subject: String, id: JSONValue, values: [String: JSONValue], stamps: [String: LinkStamp] = [:],
    answers: Set<String> = []
  ) {
    self.subject = subject
    self.id = id
    self.values = values
    self.stamps = stamps
    self.answers = answers
  }

  var address: Address { Address(subject: subject, id: id) }

  /// Whether the message is for the channel with an id that somebody typed, who does not know whether it
  /// is a number or a text of digits.
  package func isFor(typedID typed: JSONValue) -> Bool { id == typed || id == typed.asText }

  /// Takes the values of another message of the same channel in the place of those it has.
  mutating func take(_ newer: ChannelMessage) {
    remove(newer.values.keys)
    values.merge(newer.values) { $1 }
    stamps.merge(newer.stamps) { $1 }
    answers.formUnion(newer.answers)
  }

  /// Leaves out some of the values.
  mutating func remove(_ names: some Sequence<String>) {
    for name in names {
      values[name] = nil
      stamps[name] = nil
      answers.remove(name)
    }
  }

  /// A message for each of the values.
  var split: [ChannelMessage] {
    values.sorted { $0.key < $1.key }.map { name, value in
      ChannelMessage(
        subject: subject, id: id, values: [name: value],
        stamps: stamps[name].map { [name: $0] } ?? [:], answers: answers.intersection([name]))
    }
  }
}

// MARK: - JSON

extension ChannelMessage {
  /// `{"subject":…,"id":…,"values":{…},"stamps":{…},"answers":[…]}`, without stamps and answers if there
  /// are none.
  var json: JSONValue {
    var fields: [String: JSONValue] = [
      "subject": .string(subject), "id": id, "values": .object(values),
    ]
    if !stamps.isEmpty { fields["stamps"] = .object(stamps.mapValues(\.json)) }
    if !answers.isEmpty { fields["answers"] = .array(answers.sorted().map(JSONValue.string)) }
    return .object(fields)
  }

  init(_ json: JSONValue) throws(ChannelLinkError) {
    guard case .object(let fields) = json, case .string(let subject)? = fields["subject"],
      let id = fields["id"],
      case .object(let values)? = fields["values"]
    else { throw ChannelLinkError(.malformed, "the peer sent no message of a channel") }
    self.init(
      subject: subject, id: id, values: values, stamps: try Self.stamps(fields["stamps"]),
      answers: try Self.answers(fields["answers"]))
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

  private static func answers(_ json: JSONValue?) throws(ChannelLinkError) -> Set<String> {
    guard let json else { return [] }
    guard case .array(let elements) = json else {
      throw ChannelLinkError(.malformed, "the peer sent answers that are none")
    }
    var answers: Set<String> = []
    for case .string(let name) in elements { answers.insert(name) }
    return answers
  }
}
