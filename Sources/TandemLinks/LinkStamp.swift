import TandemChannels
import TandemRecords

/// When a value was sent, in an order on which all linked hubs agree.
///
/// The order is that of L. Lamport, *Time, Clocks, and the Ordering of Events in a Distributed System*
/// (1978): a value is later than all that its hub had sent or received before. Of values that were
/// sent without knowledge of one another, the number of the hub decides, which is random.
package struct LinkStamp: Hashable, Sendable {
  package var counter: UInt64
  package var hub: UInt64

  /// The highest counter: every reader of JSON keeps it exactly. Nobody gets there by counting; a hub that
  /// was led there shares no more values, and says so.
  package static let maxCounter: UInt64 = 1 << 52
  /// How far a peer's counter may be ahead: five years of a hub that sends 100,000 values a second. Who
  /// claims more is broken, and would bring all clocks near their end.
  package static let maxLead: UInt64 = 1 << 44

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

/// What becomes of the stamps that a hub gave before it heard of any other, once it hears of one that is
/// ahead: they are moved behind all that the other one knows, in their order.
///
/// To do it again to one of the new stamps changes nothing.
struct Restamping: Hashable, Sendable {
  var hub: UInt64
  /// The last of these stamps.
  var lastCounter: UInt64
  /// By how much they are moved: no less than `lastCounter`.
  var distance: UInt64

  func applied(to stamp: LinkStamp) -> LinkStamp {
    guard stamp.hub == hub, stamp.counter > 0, stamp.counter <= lastCounter else { return stamp }
    return LinkStamp(counter: stamp.counter + distance, hub: hub)
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
