/// Items that one user at a time checks out, first come, first served; a value without locks or
/// threads.
///
/// Every operation takes amortised constant time. Each waiting request is one suspended task or one
/// blocked thread, so the callers bound their number.
package struct CheckoutQueue<Item, Waiter> {
  /// The answer to a request.
  package enum Answer {
    case checkedOut(Item)
    case waits
    case rejected
  }

  /// The identity of a request, by which it can be withdrawn.
  package struct RequestID: Hashable, Sendable {
    fileprivate var number: UInt64
  }

  private var itemCount: Int
  private var idle: [Item]
  private var waiting: [RequestID: Waiter] = [:]
  /// The requests in the order in which they came, including some that no longer wait.
  private var order: [RequestID] = []
  private var orderStart = 0
  private var lastRequest = RequestID(number: 0)
  private(set) var isClosed = false

  /// A queue of idle items.
  package init(_ items: [Item]) {
    idle = items
    itemCount = items.count
  }

  /// True if every item is idle.
  var isIdle: Bool { idle.count == itemCount }

  /// The number of requests that wait.
  package var waitingCount: Int { waiting.count }

  /// The identity for the next request.
  package mutating func makeRequestID() -> RequestID {
    lastRequest.number += 1
    return lastRequest
  }

  /// Checks out the item that came back last, whose caches are warm, or makes the request wait.
  package mutating func checkOut(_ id: RequestID, _ waiter: () -> Waiter) -> Answer {
    if isClosed { return .rejected }
    if let item = idle.popLast() { return .checkedOut(item) }
    waiting[id] = waiter()
    order.append(id)
    return .waits
  }

  /// Takes an item back; returns the waiter that gets the item at once, if there is one.
  package mutating func checkIn(_ item: Item) -> Waiter? {
    while orderStart < order.count {
      let id = order[orderStart]
      orderStart += 1
      if let waiter = waiting.removeValue(forKey: id) {
        removeServed()
        return waiter
      }
    }
    removeServed()
    idle.append(item)
    return nil
  }

  private mutating func removeServed() {
    guard orderStart >= 32, orderStart * 2 >= order.count else { return }
    order.removeFirst(orderStart)
    orderStart = 0
  }

  /// Withdraws a request; returns its waiter if it was still waiting.
  mutating func withdraw(_ id: RequestID) -> Waiter? { waiting.removeValue(forKey: id) }

  /// Rejects all further requests; returns the waiters in their order.
  mutating func close() -> [Waiter] {
    isClosed = true
    let rejected = order[orderStart...].compactMap { waiting.removeValue(forKey: $0) }
    order = []
    orderStart = 0
    return rejected
  }

  /// Removes the idle items from the queue.
  mutating func takeIdle() -> [Item] {
    defer { idle = [] }
    itemCount -= idle.count
    return idle
  }
}

extension CheckoutQueue.Answer: Sendable where Item: Sendable {}
