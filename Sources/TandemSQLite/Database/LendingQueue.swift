/// Items lent to borrowers one at a time, first come, first served; a value without locks or threads.
///
/// Every operation takes constant time, amortised. The borrowers that wait are as many as there are
/// callers: each is one suspended task or one blocked thread, which is their bound.
struct LendingQueue<Item, Borrower> {
  /// What becomes of a request.
  enum Answer {
    case lent(Item)
    case waits
    case refused
  }

  private var itemCount: Int
  private var idle: [Item]
  private var waiting: [UInt64: Borrower] = [:]
  /// The order of those who wait, and of those who no longer do.
  private var order: [UInt64] = []
  private var orderStart = 0
  private var nextTicket: UInt64 = 0
  private(set) var isClosed = false

  init(_ items: [Item]) {
    idle = items
    itemCount = items.count
  }

  /// Whether every item is back.
  var isWhole: Bool { idle.count == itemCount }

  /// A number that names the next request.
  mutating func ticket() -> UInt64 {
    nextTicket += 1
    return nextTicket
  }

  /// Lends the item that came back last, whose caches are warm, or lets the borrower wait.
  mutating func request(_ ticket: UInt64, _ borrower: () -> Borrower) -> Answer {
    if isClosed { return .refused }
    if let item = idle.popLast() { return .lent(item) }
    waiting[ticket] = borrower()
    order.append(ticket)
    return .waits
  }

  /// Takes an item back; returns the borrower to lend it to at once, if one waits.
  mutating func giveBack(_ item: Item) -> Borrower? {
    while orderStart < order.count {
      let ticket = order[orderStart]
      orderStart += 1
      if let borrower = waiting.removeValue(forKey: ticket) {
        forgetServed()
        return borrower
      }
    }
    forgetServed()
    idle.append(item)
    return nil
  }

  private mutating func forgetServed() {
    guard orderStart >= 32, orderStart * 2 >= order.count else { return }
    order.removeFirst(orderStart)
    orderStart = 0
  }

  /// The borrower of a ticket, if it still waits; it does no longer.
  mutating func withdraw(_ ticket: UInt64) -> Borrower? { waiting.removeValue(forKey: ticket) }

  /// Refuses all further requests; returns those who waited.
  mutating func close() -> [Borrower] {
    isClosed = true
    let refused = order[orderStart...].compactMap { waiting.removeValue(forKey: $0) }
    order = []
    orderStart = 0
    return refused
  }

  /// Takes the items that are back out of the queue for good.
  mutating func takeIdle() -> [Item] {
    defer { idle = [] }
    itemCount -= idle.count
    return idle
  }
}
