/// When a value was sent, in an order on which all linked hubs agree.
///
/// The order is that of L. Lamport, *Time, Clocks, and the Ordering of Events in a Distributed System*
/// (1978): a value is later than all that its hub had sent or received before. Of values that were
/// sent without knowledge of one another, the number of the hub decides, which is random.
package struct LinkStamp: Hashable, Sendable {
  package var counter: UInt64
  package var hub: UInt64

  /// The highest counter: what every reader of JSON keeps exactly. Nobody gets there by counting; one
  /// who claims to have is at the end, and so are those who believe it, without a trap.
  package static let maxCounter: UInt64 = 1 << 53 - 1

  package init(counter: UInt64, hub: UInt64) {
    self.counter = counter
    self.hub = hub
  }
}

extension LinkStamp: Comparable {
  package static func < (first: LinkStamp, second: LinkStamp) -> Bool {
    (first.counter, first.hub) < (second.counter, second.hub)
  }
}

// MARK: - On the wire

extension LinkStamp {
  /// As in `[7,"9f3c0a1b2c3d4e5f"]`.
  var json: JSONValue { .array([.number("\(counter)"), .string(String(hub, radix: 16))]) }

  init?(_ json: JSONValue) {
    guard case .array(let parts) = json, parts.count == 2,
      case .number(let digits) = parts[0], let counter = UInt64(digits),
      counter <= Self.maxCounter,
      case .string(let text) = parts[1], let hub = UInt64(text, radix: 16)
    else { return nil }
    self.init(counter: counter, hub: hub)
  }
}
