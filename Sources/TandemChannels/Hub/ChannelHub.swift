/// Delivers values that are sent on a channel to every object bound to it.
///
/// **Isolation.** A hub lives in the isolation domain that made it – the main actor, another actor, or one task –
/// with the objects bound to it. A hub is not Sendable, so the compiler keeps it there. Every call is
/// synchronous: when ``send(_:_:on:excluding:)`` returns, the value has been delivered, unless it was
/// sent during a delivery, which queues it (see **Order**). A ``ChannelSender`` sends a batch from
/// another isolation domain, with one hop.
///
/// **Order.** Bindings get values in the order in which the bindings were made. First all objects of the channel
/// get all values that are sent together, then did-change hooks and subscribers are notified. Values that
/// they send are queued, not nested, and are delivered, in order, before the first send returns. A
/// binding that is made during a delivery takes no part in it.
///
/// **Lifetime.** Objects are held weakly. The bindings of an object that was released are removed at the next send
/// on the channel, and at the latest when the number of bindings has doubled.
///
/// **Cost.** A send costs O(listeners of the channel), however many channels there are. It allocates nothing,
/// unless a did-change hook is notified, a value is remembered for the first time, or a link runs. A map
/// made of key paths in variables instead of literals costs the standard library's write through such a
/// key path, with an allocation.
public final class ChannelHub {
  /// The limits of the hub.
  public let limits: ChannelLimits
  /// Called with each value that the hub did not deliver, after everything else of the delivery, for the first
  /// ``maxReportedDiagnosticCount`` diagnostics. Values that the closure sends are delivered after the last call;
  /// the diagnostics of that delivery are only added to ``diagnostics``.
  public var onDiagnostic: ((ChannelDiagnostic) -> Void)?
  /// The latest ``maxDiagnosticCount`` diagnostics, the newest last.
  public private(set) var diagnostics: [ChannelDiagnostic] = []
  /// The number of diagnostics that are kept.
  public static let maxDiagnosticCount = 16
  /// The number of diagnostics of one delivery with which ``onDiagnostic`` is called.
  public static let maxReportedDiagnosticCount = 1024

  private let channels = ChannelTable()
  let routes = RouteCache()
  /// The observers of everything that is sent.
  package var sendObservers: [any SendObserver] = [] {
    didSet { hasSendObservers = !sendObservers.isEmpty }
  }
  private(set) var hasSendObservers = false
  /// The record of values that nobody got.
  var unreached = UnreachedValues()
  /// The kind of unbound address that was examined last, since when no other kind was bound. Kept beside the record,
  /// because a change of the record would cost each send to nobody a check of exclusive access.
  var examinedKind: ObjectIdentifier?
  var isDelivering = false
  // A flag, because looking at the queue and the diagnostics would slow down each send.
  var hasMoreToDo = false
  var queue: [QueuedDelivery] = []
  /// The number of sends at the front of the queue that have been delivered.
  var deliveredCount = 0
  /// The number of sends that caused the one that is being delivered.
  var depth = 0
  private var unreported: [ChannelDiagnostic] = []
  private var isReporting = false
  /// The change that an object bound both ways is publishing.
  let publication = RunningPublication()
  var memory = Recency()
  private var lastSerial: UInt64 = 0
  private var bindingsUntilSweep = minBindingCountPerSweep

  private static let minBindingCountPerSweep = 1024

  /// A hub without channels.
  public init(limits: ChannelLimits = ChannelLimits()) { self.limits = limits }

  /// The number of channels with bindings or remembered values. Bindings of objects that were released count until
  /// they are removed.
  public var channelCount: Int { channels.count }
}

// MARK: - Channels

extension ChannelHub {
  func node(at address: ChannelAddress) -> ChannelNode? { channels.node(at: address) }

  /// The current bindings of a channel.
  @inline(__always)
  func listeners(at address: ChannelAddress) -> ChannelListeners? {
    channels.listeners(at: address)
  }

  func nodeOrNew(at address: ChannelAddress) -> ChannelNode {
    if let node = channels.node(at: address) { return node }
    let node = ChannelNode(address: address)
    channels.insert(node)
    return node
  }

  func remove(_ node: ChannelNode) { channels.remove(node) }

  /// All channels, in no order.
  var nodes: [ChannelNode] { channels.nodes }

  var newestSerial: UInt64 { lastSerial }

  /// Adds a binding to its channel, and delivers the remembered values of the channel to it.
  func register(_ binding: ChannelBinding, at address: ChannelAddress) {
    let node = nodeOrNew(at: address)
    if unreached.noteBinding(at: address) { examinedKind = nil }
    lastSerial += 1
    binding.begin(at: node, in: self, serial: lastSerial)
    node.append(binding)
    if binding.isNotified { node.notifiedCount += 1 }
    if node.remembered != nil { replay(to: binding) }
    bindingsUntilSweep -= 1
    if bindingsUntilSweep <= 0 { releaseEnded() }
  }

  /// Takes note of the end of a binding, and removes the channel with its last one.
  func ended(_ binding: ChannelBinding, at node: ChannelNode) {
    if binding.isNotified { node.notifiedCount -= 1 }
    node.bindingEnded()
    if node.isUnused { remove(node) }
  }

  /// Removes the bindings of objects that were released.
  ///
  /// The hub also does this by itself, when the number of bindings has doubled since the last time.
  ///
  /// - Complexity: O(bindings).
  package func releaseEnded() {
    var ended: [ChannelBinding] = []
    var count = 0
    for node in channels.nodes {
      for binding in node.bindings where binding.node != nil {
        if binding.isAlive { count += 1 } else { ended.append(binding) }
      }
    }
    for binding in ended { binding.cancel() }
    bindingsUntilSweep = max(Self.minBindingCountPerSweep, count)
  }

  package func report(_ diagnostic: ChannelDiagnostic) {
    if diagnostics.count == Self.maxDiagnosticCount { diagnostics.removeFirst() }
    diagnostics.append(diagnostic)
    guard !isReporting, unreported.count < Self.maxReportedDiagnosticCount else { return }
    unreported.append(diagnostic)
    hasMoreToDo = true
    if !isDelivering { settle() }
  }

  /// Calls ``onDiagnostic`` with the new diagnostics; values that it sends wait.
  func reportDiagnostics() {
    guard !unreported.isEmpty else { return }
    let diagnostics = unreported
    unreported = []
    isReporting = true
    for diagnostic in diagnostics { onDiagnostic?(diagnostic) }
    deliverQueued()
    isReporting = false
  }
}
