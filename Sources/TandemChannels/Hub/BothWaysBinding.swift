public import Observation
import Synchronization

/// Brings values into an observable object, and sends what the object changes itself.
final class BothWaysBinding<Object: AnyObject & Observable>: ObjectBinding<Object> {
  /// A property that travels both ways.
  private struct Place {
    var reader: any PropertyReader<Object>
    /// What the channel knows.
    var last: any PropertySnapshot<Object>
    /// What the object took in the place of the value that came last, if it did.
    var answer: (any PropertySnapshot<Object>)?
  }

  private let address: ChannelAddress
  private var places: [Place]
  private var sources: [AnyKeyPath]
  /// What the value that is being written was converted to.
  private var converted: (any PropertySnapshot<Object>)?
  private var convertingPlace: Int?
  private var nextChange: NextChange?

  init<Subject>(
    _ object: Object, map: KeyPathMap<Subject, Object>, address: ChannelAddress
  ) {
    let readable = map.table.routes.compactMap { route in
      route.reading.map { (source: route.source, reader: $0) }
    }
    self.address = address
    places = readable.map { Place(reader: $0.reader, last: $0.reader.snapshot(of: object)) }
    sources = readable.map(\.source)
    super.init(object, table: map.table, hasHooks: map.hasDidChangeHooks)
  }

  deinit { nextChange?.finish() }

  /// What the object was to have is what the channel knows; if the object has another value now, because
  /// a hook or the object has replaced it, that one is sent in answer. What was refused is not known.
  override func apply<Value>(
    _ value: Value, of property: AnyKeyPath, by routes: RouteCache
  ) {
    guard let (place, answer) = write(value, of: property, by: routes) else { return }
    places[place].answer = answer
    if answer != nil { nextChange?.hasAnswer() }
  }

  /// Of two that replace each other's values, each has its own in the end.
  override func applyAnswer<Value>(
    _ value: Value, of property: AnyKeyPath, by routes: RouteCache
  ) {
    guard let (place, answer) = write(value, of: property, by: routes) else { return }
    places[place].answer = nil
    guard let answer else { return }
    places[place].last = answer
    hub?.report(
      ChannelDiagnostic(
        kind: .replacedDifferently, channel: "\(address)", property: "\(property)"))
  }

  /// Writes a value; returns the place of its property, and what the object has instead.
  private func write<Value>(
    _ value: Value, of property: AnyKeyPath, by routes: RouteCache
  ) -> (place: Int, instead: (any PropertySnapshot<Object>)?)? {
    hasRefused = false
    converted = nil
    convertingPlace = sources.firstIndex(of: property)
    super.apply(value, of: property, by: routes)
    defer { converted = nil }
    // What was written to may have ended the binding.
    guard !hasRefused, let object, let place = convertingPlace, places.indices.contains(place),
      let known = converted ?? places[place].reader.snapshot(with: value)
    else { return nil }
    places[place].last = known
    // What the hub has written is no answer; only what differs from that is.
    if places.allSatisfy({ $0.last.change(in: object) == nil }) { nextChange?.isNoAnswer() }
    return (place, known.change(in: object)?.snapshot)
  }

  override func hasConverted<Converted>(to value: Converted) {
    converted = convertingPlace.flatMap { places[$0].reader.snapshot(with: value) }
  }

  override func released() {
    super.released()
    nextChange?.finish()
    nextChange = nil
    places = []
  }

  /// Sends what the object has changed since, as one batch, and waits for the next change.
  override func publishChanges() {
    guard node != nil, let object, let hub else { return cancel() }
    let depth = nextChange?.takeDepth() ?? 0
    observe(object)
    var entries: [BatchEntry] = []
    for place in places.indices {
      guard let change = places[place].last.change(in: object) else { continue }
      let isAnswer = places[place].answer.map { $0.change(in: object) == nil } ?? false
      (places[place].last, places[place].answer) = (change.snapshot, nil)
      guard let value = change.entry else { continue }
      entries.append(BatchEntry(address: address, value: isAnswer ? value.answer : value))
    }
    if !entries.isEmpty { send(entries, from: object, in: hub, depth: depth) }
  }

  /// Sends what the object has changed, unless too many objects have answered each other already.
  private func send(_ entries: [BatchEntry], from object: Object, in hub: ChannelHub, depth: Int) {
    guard depth <= hub.limits.maxCascadeDepth else {
      return hub.report(.cascadeTooDeep, of: entries.map(\.value), at: address)
    }
    hub.publication.perform(at: depth + 1) { hub.send(entries, excluding: object) }
  }

  /// Observation tells once, before the change, so there is nothing to do until it has told.
  private func observe(_ object: Object) {
    guard let nextChange, nextChange.beginWaiting() else { return }
    withObservationTracking {
      for place in places { _ = place.reader.snapshot(of: object) }
    } onChange: {
      nextChange.hasCome()
    }
  }

  /// Begins to observe; the elements of the result are turns in which to publish changes.
  ///
  /// - Parameter publication: what tells an answer to another object from a change of one's own.
  func start(during publication: RunningPublication) -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    nextChange = NextChange(turns: continuation, during: publication)
    if let object { observe(object) }
    return stream
  }
}

/// Tells what objects change by themselves from what they change because another has published a change:
/// the turns between them would hide a cycle from the hub.
final class RunningPublication: Sendable {
  private let value = Atomic(0)

  /// How many publications have led to this one, itself included; 0 outside of any.
  var depth: Int { value.load(ordering: .relaxed) }

  /// Does something that objects may answer.
  func perform(at depth: Int, _ body: () -> Void) {
    let outer = value.exchange(depth, ordering: .relaxed)
    body()
    value.store(outer, ordering: .relaxed)
  }
}

/// Carries the news of a change to the next turn of the hub's domain.
private final class NextChange: Sendable {
  private let turns: AsyncStream<Void>.Continuation
  private let isAwaited = Atomic(false)
  private let publication: RunningPublication
  private let depth = Atomic(0)

  init(turns: AsyncStream<Void>.Continuation, during publication: RunningPublication) {
    self.turns = turns
    self.publication = publication
  }

  /// Returns whether the change was not awaited already.
  func beginWaiting() -> Bool { !isAwaited.exchange(true, ordering: .acquiringAndReleasing) }

  func hasCome() {
    depth.store(publication.depth, ordering: .relaxed)
    isAwaited.store(false, ordering: .releasing)
    turns.yield()
  }

  /// What has come leads to nothing: what comes in the same turn begins anew.
  func isNoAnswer() { depth.store(0, ordering: .relaxed) }

  /// How many publications led to the change that has come, if one has.
  func takeDepth() -> Int { depth.exchange(0, ordering: .relaxed) }

  /// There is something to send, although the object may not have changed.
  func hasAnswer() { turns.yield() }

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
  /// An object that takes another value than the one that was sent, by ``ChannelDecision/replace(_:)`` or
  /// in a `didSet`, sends the one that it has taken, so that all are equal again. That is done once: an
  /// object that replaces such an answer, too, keeps its own value, with a diagnostic.
  ///
  /// Objects that answer each other's changes without end are stopped after
  /// ``ChannelLimits/maxCascadeDepth`` turns, with a diagnostic. An observation cannot be taken back:
  /// that of a binding that has ended is held, with about a kilobyte, until its object changes next or goes.
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
    let turns = binding.start(during: publication)
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
