internal import TandemRecords
internal import TandemSync

/// The records that a commit touches, in the order in which it names them first.
struct TouchedRecords {
  struct State {
    let key: SyncKey
    let old: SpaceRecord?
    var new: SpaceRecord?
    /// The first change of the record, and the number of all.
    fileprivate var first: SyncChange?
    fileprivate var changeCount = 0
  }

  private var states: [State] = []
  private var offsets: [SyncKey: Int] = [:]

  init(maxCount: Int) {
    states.reserveCapacity(maxCount)
    offsets.reserveCapacity(maxCount)
  }

  subscript(offset: Int) -> State {
    get { states[offset] }
    _modify { yield &states[offset] }
  }

  /// The place of a record.
  mutating func offset(
    of key: SyncKey, _ record: (SyncKey) throws -> SpaceRecord?
  ) rethrows -> Int {
    // The changes of one record mostly follow each other.
    if !states.isEmpty, states[states.count - 1].key == key { return states.count - 1 }
    if let offset = offsets[key] { return offset }
    let old = try record(key)
    offsets[key] = states.count
    states.append(State(key: key, old: old, new: old))
    return states.count - 1
  }

  /// Notes a change of a record. False if it is the first one, or if both are an update and an add of
  /// different fields.
  mutating func repeats(_ change: SyncChange, at offset: Int) -> Bool {
    states[offset].changeCount += 1
    guard let first = states[offset].first else {
      states[offset].first = change
      return false
    }
    guard states[offset].changeCount == 2, let fields = change.fields, let others = first.fields
    else { return true }
    switch (first.verb, change.verb) {
    case (.update, .add), (.add, .update):
      return !fields.layout.names.allSatisfy { others.layout.offset(of: $0) == nil }
    default: return true
    }
  }

  /// The records that changed, and those of which only a claim did.
  var edits: [SpaceLedger.Edit] {
    states.compactMap { state in
      guard let new = state.new,
        new.version != state.old?.version || new.claims != state.old?.claims
      else { return nil }
      return SpaceLedger.Edit(key: state.key, old: state.old, new: new)
    }
  }
}
