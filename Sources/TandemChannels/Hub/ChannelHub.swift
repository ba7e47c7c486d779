/// Where channels meet: what is sent on a channel reaches every object bound to it.
///
/// **Isolation.** A hub lives in the isolation domain that made it – the main actor, another actor, or
/// one task – with the objects bound to it. It is not Sendable, so the compiler keeps it there, and
/// every call is synchronous: when ``send(_:_:on:excluding:)`` returns, everybody has the value. From
/// elsewhere, a ``ChannelSender`` delivers a batch with one hop.
///
/// **Order.** Bindings get values in the order in which they were made. First all objects of the
/// channel get all values that are sent together, then did-change hooks and subscribers are told. What
/// these send is queued, not nested: it is delivered, in order, before the first send returns. A
/// binding made during a delivery takes no part in it.
///
/// **Lifetime.** Objects are held weakly. Of those that have gone, what the hub held is released when
/// the channel is next sent on, and at the latest when as many bindings have been made as there were.
///
/// **Cost.** A send costs O(listeners of the channel), however many channels there are, and allocates
/// nothing, unless a did-change hook is to be told, something is remembered, or a link has been made. A map
/// made of key paths in variables instead of literals costs what the standard library takes for a write
/// through such a key path, with an allocation.
public final class ChannelHub {
  /// How much the hub takes on.
  public let limits: ChannelLimits
  /// Told of what the hub did not deliver, once all that waits is delivered: of the first
  /// ``maxToldDiagnosticCount`` of a delivery. What the closure sends is delivered after the last one;
  /// of what comes of that it is not told, but ``diagnostics`` has it.
  public var onDiagnostic: ((ChannelDiagnostic) -> Void)?
  /// What the hub did not deliver last; at most ``maxDiagnosticCount``, the newest last.
  public private(set) var diagnostics: [ChannelDiagnostic] = []
  /// How many diagnostics are kept.
  public static let maxDiagnosticCount = 16
  /// Of how many diagnostics of one delivery ``onDiagnostic`` is told.
  public static let maxToldDiagnosticCount = 1024

  private let channels = ChannelTable()
  let routes = RouteCache()
  package var taps: [ObjectIdentifier: [any SubjectTap]] = [:] {
    didSet { hasTaps = !taps.isEmpty }
  }
  private(set) var hasTaps = false
  /// What the hub's links keep, once one has been made.
  package var linkState: AnyObject?
  var isDelivering = false
  // The flag spares a send that nobody answers a look at the queue and the diagnostics.
  var hasMoreToDo = false
  var queue: [QueuedDelivery] = []
  /// How many at the front of the queue have been delivered.
  var deliveredCount = 0
  /// How many sends led to the one that is being delivered.
  var depth = 0
  private var untold: [ChannelDiagnostic] = []
  private var isTelling = false
  /// What an object that is bound both ways is publishing.
  let publication = RunningPublication()
  var memory = Recency()
  private var lastSerial: UInt64 = 0
  private var bindingsUntilSweep = minBindingCountPerSweep

  private static let minBindingCountPerSweep = 1024

  /// A hub without channels.
  public init(limits: ChannelLimits = ChannelLimits()) { self.limits = limits }

  /// How many channels have bindings or remembered values; those of objects that have gone count until
  /// they are released.
  public var channelCount: Int { channels.count }
}

// MARK: - Channels

extension ChannelHub {
  func node(at address: ChannelAddress) -> ChannelNode? { channels.node(at: address) }

  /// Who is bound to a channel now.
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

  /// All remembered values of a subject's channels.
  package func rememberedEntries(of subject: ObjectIdentifier) -> [BatchEntry] {
    channels.nodes.filter { ObjectIdentifier($0.address.subject) == subject }.flatMap { node in
      (node.remembered?.values ?? []).map { BatchEntry(address: node.address, value: $0) }
    }
  }

  func remove(_ node: ChannelNode) { channels.remove(node) }

  var newestSerial: UInt64 { lastSerial }

  /// Adds a binding to its channel, and hands it what the channel remembers.
  func register(_ binding: ChannelBinding, at address: ChannelAddress) {
    let node = nodeOrNew(at: address)
    lastSerial += 1
    binding.begin(at: node, in: self, serial: lastSerial)
    node.append(binding)
    if binding.announces { node.announcerCount += 1 }
    if node.remembered != nil { replay(to: binding) }
    bindingsUntilSweep -= 1
    if bindingsUntilSweep <= 0 { releaseEnded() }
  }

  /// Lets go of a binding of a channel, and of the channel with its last one.
  func ended(_ binding: ChannelBinding, at node: ChannelNode) {
    if binding.announces { node.announcerCount -= 1 }
    node.bindingEnded()
    if node.isUnused { remove(node) }
  }

  /// Releases what is held for objects that have gone.
  ///
  /// Happens by itself, too, once as many bindings have been made as there were the last time.
  ///
  /// - Complexity: O(bindings).
  public func releaseEnded() {
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
    guard !isTelling, untold.count < Self.maxToldDiagnosticCount else { return }
    untold.append(diagnostic)
    hasMoreToDo = true
    if !isDelivering { settle() }
  }

  /// Tells of what was not delivered; what listeners send meanwhile waits.
  func tellDiagnostics() {
    guard !untold.isEmpty else { return }
    let diagnostics = untold
    untold = []
    isTelling = true
    for diagnostic in diagnostics { onDiagnostic?(diagnostic) }
    deliverQueued()
    isTelling = false
  }
}
