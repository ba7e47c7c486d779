public import Observation
import Synchronization

/// Writes values to an observable object, and sends the changes that the object makes itself.
final class BothWaysBinding<Object: AnyObject & Observable>: ObjectBinding<Object> {
  /// A property that travels both ways.
  private struct Place {
    var reader: any PropertyReader<Object>
    /// The value that the channel has.
    var last: any PropertySnapshot<Object>
    /// The value that the object took in place of the last one that arrived, if it did.
    var answer: (any PropertySnapshot<Object>)?
  }

  private let address: ChannelAddress
  private var places: [Place]
  private var sources: [AnyKeyPath]
  /// The converted form of the value that is being written.
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

  /// Writes a value. If a hook or the object has replaced it, the value of the object is sent as an answer. A value
  /// that was refused does not count as a value of the channel.
  override func apply<Value>(
    _ value: Value, of property: AnyKeyPath, by routes: RouteCache
  ) {
    guard let (place, answer) = write(value, of: property, by: routes) else { return }
    places[place].answer = answer
    if answer != nil { nextChange?.requestTurn() }
  }

  /// Writes an answer. If the object replaces it, too, the object keeps its own value.
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

  /// Writes a value; returns the place of its property, and the object's value if it differs.
  private func write<Value>(
    _ value: Value, of property: AnyKeyPath, by routes: RouteCache
  ) -> (place: Int, instead: (any PropertySnapshot<Object>)?)? {
    hasRefused = false
    converted = nil
    convertingPlace = sources.firstIndex(of: property)
    super.apply(value, of: property, by: routes)
    defer { converted = nil }
    // The write may have ended the binding.
    guard !hasRefused, let object, let place = convertingPlace, places.indices.contains(place),
      let known = converted ?? places[place].reader.snapshot(with: value)
    else { return nil }
    places[place].last = known
    // A value that the hub has written is no answer; a different one is.
    if places.allSatisfy({ $0.last.change(in: object) == nil }) { nextChange?.resetDepth() }
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

  /// Sends the object's changes as one batch, and waits for the next change.
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

  /// Sends changes, unless too many objects have answered each other already.
  private func send(_ entries: [BatchEntry], from object: Object, in hub: ChannelHub, depth: Int) {
    guard depth <= hub.limits.maxCascadeDepth else {
      return hub.report(.cascadeTooDeep, of: entries.map(\.value), at: address)
    }
    hub.publication.perform(at: depth + 1) { hub.send(entries, excluding: object) }
  }

  /// Observes the next change. Observation reports one change only, before it is made.
  private func observe(_ object: Object) {
    guard let nextChange, nextChange.beginWaiting() else { return }
    withObservationTracking {
      for place in places { _ = place.reader.snapshot(of: object) }
    } onChange: {
      nextChange.noteChange()
    }
  }

  /// Begins to observe; the elements of the result are turns in which to publish changes.
  ///
  /// - Parameter publication: distinguishes answers to other objects from changes of the object itself.
  func start(during publication: RunningPublication) -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    nextChange = NextChange(turns: continuation, during: publication)
    if let object { observe(object) }
    return stream
  }
}

/// Distinguishes changes that objects make by themselves from answers to a published change. The hub would not
/// notice a cycle of answers otherwise, because there is a turn of the actor between them.
final class RunningPublication: Sendable {
  private let value = Atomic(0)

  /// The number of publications that caused this one, including itself; 0 outside of any.
  var depth: Int { value.load(ordering: .relaxed) }

  /// Runs a closure whose effects objects may answer.
  func perform(at depth: Int, _ body: () -> Void) {
    let outer = value.exchange(depth, ordering: .relaxed)
    body()
    value.store(outer, ordering: .relaxed)
  }
}

/// Reports a change to the next turn of the hub's isolation domain.
private final class NextChange: Sendable {
  private let turns: AsyncStream<Void>.Continuation
  private let isAwaited = Atomic(false)
  private let publication: RunningPublication
  private let depth = Atomic(0)

  init(turns: AsyncStream<Void>.Continuation, during publication: RunningPublication) {
    self.turns = turns
    self.publication = publication
  }

  /// Returns true if the change was not awaited already.
  func beginWaiting() -> Bool { !isAwaited.exchange(true, ordering: .acquiringAndReleasing) }

  /// Takes note of the change, which is sent in the next turn.
  func noteChange() {
    depth.store(publication.depth, ordering: .relaxed)
    isAwaited.store(false, ordering: .releasing)
    turns.yield()
  }

  /// Takes note that the change causes nothing: further changes of the same turn count from the beginning.
  func resetDepth() { depth.store(0, ordering: .relaxed) }

  /// The number of publications that caused the change, if there is one.
  func takeDepth() -> Int { depth.exchange(0, ordering: .relaxed) }

  /// Asks for a turn, as there is an answer to send, although the object may not have changed.
  func requestTurn() { turns.yield() }

  func finish() { turns.finish() }
}

extension ChannelHub {
  /// Binds an observable object both ways: it gets the values that are sent on the channel, and its own changes
  /// are sent, without echo.
  ///
  /// Observation reports a change *before* it is made, so the new value is sent in the next turn of the hub's
  /// actor: all changes of one turn become one batch, and a property that was changed twice is sent once.
  /// ``ChannelBinding/publishChanges()`` sends at once instead. Values that the hub has written are not sent
  /// back; other bindings of the same object are excluded.
  ///
  /// An object may take another value than the one that was sent, by ``ChannelDecision/replace(_:)`` or in a
  /// `didSet`. It then sends its value, so that all objects are equal again. That happens once: an object
  /// that replaces such an answer keeps its own value, with a diagnostic.
  ///
  /// Objects that answer each other's changes without end are stopped after
  /// ``ChannelLimits/maxCascadeDepth`` turns, with a diagnostic. An observation cannot be cancelled: about a
  /// kilobyte is held for a binding that has ended, until its object changes next or is released.
  ///
  /// Properties travel both ways if their values are Equatable and they are mapped without conversion
  /// or with one back; others only arrive. Maps of whole subjects only arrive, too.
  ///
  /// Must be called where the hub lives, which has to be an actor, as for ``sender(isolation:)``.
  @discardableResult
  public func bindBothWays<Subject, Object: AnyObject & Observable>(
    _ object: Object, to channel: Channel<Subject>, through map: KeyPathMap<Subject, Object>,
    replacing previous: ChannelBinding? = nil, isolation: isolated (any Actor)? = #isolation
  ) -> ChannelBinding {
    previous?.cancel()
    let binding = BothWaysBinding(
      object, map: map, address: channel.address)
    let turns = binding.start(during: publication)
    register(binding, at: channel.address)
    // The binding owns this task: it ends with the stream, which the binding finishes when it ends.
    let publisher = TurnPublisher(binding: binding)
    if isolation == nil {
      _ = MainActor.ofCaller()
      // Safe: this code runs on the main actor, or traps.
      nonisolated(unsafe) let mainPublisher = publisher
      Task { @MainActor in await mainPublisher.publish(turns) }
    } else {
      Task {
        _ = isolation
        await publisher.publish(turns)
      }
    }
    return binding
  }
}

/// Publishes the changes of an object in each turn, as long as its binding exists.
private struct TurnPublisher<Object: AnyObject & Observable> {
  weak var binding: BothWaysBinding<Object>?

  func publish(_ turns: AsyncStream<Void>, isolation: isolated (any Actor)? = #isolation) async {
    for await _ in turns {
      guard let binding else { return }
      binding.publishChanges()
    }
  }
}
