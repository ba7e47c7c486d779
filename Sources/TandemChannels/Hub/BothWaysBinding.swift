public import Observation
import Synchronization

/// Brings values into an observable object, and sends what the object changes itself.
final class BothWaysBinding<Object: AnyObject & Observable>: ObjectBinding<Object> {
  private let address: ChannelAddress
  private var snapshots: [(reader: any PropertyReader<Object>, last: any PropertySnapshot<Object>)]
  private var sources: [AnyKeyPath]
  private var nextChange: NextChange?

  init<Subject>(
    _ object: Object, map: KeyPathMap<Subject, Object>, address: ChannelAddress
  ) {
    let readable = map.table.routes.compactMap { route in
      route.reading.map { (source: route.source, reader: $0) }
    }
    self.address = address
    snapshots = readable.map { ($0.reader, $0.reader.snapshot(of: object)) }
    sources = readable.map(\.source)
    super.init(object, table: map.table, hasHooks: map.hasDidChangeHooks)
  }

  deinit { nextChange?.finish() }

  /// What the hub has written is what the channel knows already; what it was refused to write is not.
  override func apply<Value>(
    _ value: Value, of property: AnyKeyPath, by routes: RouteCache
  ) {
    hasRefused = false
    super.apply(value, of: property, by: routes)
    guard !hasRefused, let object, let place = sources.firstIndex(of: property) else { return }
    snapshots[place].last = snapshots[place].reader.snapshot(of: object)
  }

  override func released() {
    super.released()
    nextChange?.finish()
    nextChange = nil
    snapshots = []
  }

  /// Sends what the object has changed since, as one batch, and waits for the next change.
  override func publishChanges() {
    guard node != nil, let object, let hub else { return cancel() }
    observe(object)
    var entries: [BatchEntry] = []
    for place in snapshots.indices {
      guard let change = snapshots[place].last.change(in: object) else { continue }
      snapshots[place].last = change.snapshot
      if let value = change.entry { entries.append(BatchEntry(address: address, value: value)) }
    }
    if !entries.isEmpty { hub.send(entries, excluding: object) }
  }

  /// Observation tells once, before the change, so there is nothing to do until it has told.
  private func observe(_ object: Object) {
    guard let nextChange, nextChange.beginWaiting() else { return }
    withObservationTracking {
      for place in snapshots.indices { _ = snapshots[place].reader.snapshot(of: object) }
    } onChange: {
      nextChange.hasCome()
    }
  }

  /// Begins to observe; the elements of the result are turns in which to publish changes.
  func start() -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    nextChange = NextChange(turns: continuation)
    if let object { observe(object) }
    return stream
  }
}

/// Carries the news of a change to the next turn of the hub's domain.
private final class NextChange: Sendable {
  private let turns: AsyncStream<Void>.Continuation
  private let isAwaited = Atomic(false)

  init(turns: AsyncStream<Void>.Continuation) { self.turns = turns }

  /// Returns whether the change was not awaited already.
  func beginWaiting() -> Bool { !isAwaited.exchange(true, ordering: .acquiringAndReleasing) }

  func hasCome() {
    isAwaited.store(false, ordering: .releasing)
    turns.yield()
  }

  func finish() { turns.finish() }
}

extension ChannelHub {
  /// Binds an observable object both ways: it gets what is sent on the channel, and what it changes
  /// itself is sent, without echo.
  ///
  /// Observation reports a change *before* it is made, so the new value is sent in the next turn of
  /// the hub's actor: all that the object changed in one turn becomes one batch, and a property that
  /// was changed twice is sent once. ``ChannelBinding/publishChanges()`` sends at once instead. What
  /// the hub has written is not sent back; other bindings of the same object are excluded.
  ///
  /// Properties travel both ways if their values are Equatable and they are mapped without conversion
  /// or with one back; others only arrive. Maps of whole subjects only arrive, too.
  ///
  /// Must be called where the hub lives, which has to be an actor; elsewhere it does not compile.
  @discardableResult
  public func bindBothWays<Subject, Object: AnyObject & Observable>(
    _ object: Object, to channel: Channel<Subject>, through map: KeyPathMap<Subject, Object>,
    replacing previous: ChannelBinding? = nil, isolation: isolated any Actor = #isolation
  ) -> ChannelBinding {
    previous?.cancel()
    let binding = BothWaysBinding(
      object, map: map, address: channel.address)
    let turns = binding.start()
    register(binding, at: channel.address)
    // The binding owns this task: it ends with the stream, which the binding finishes when it ends.
    Task { [weak binding] in
      _ = isolation
      for await _ in turns {
        guard let binding else { return }
        binding.publishChanges()
      }
    }
    return binding
  }
}
