extension ChannelHub {
  /// Gives a value to everybody bound to a channel, and returns when they have it.
  ///
  /// Called by a listener during a delivery, it queues the value and returns at once.
  ///
  /// - Parameter sender: an object whose bindings, or a binding which, is not to get the value.
  /// - Complexity: O(listeners of the channel).
  public func send<Subject, Value>(
    _ property: KeyPath<Subject, Value>, _ value: Value, on channel: Channel<Subject>,
    excluding sender: AnyObject? = nil
  ) {
    guard !isDelivering else {
      let entry = BatchEntry(
        address: channel.address, value: TypedBatchValue(property: property, value: value))
      return enqueue(.values([entry], excluding: sender))
    }
    isDelivering = true
    deliver(value, of: property, on: channel.address, excluding: sender)
    settle()
  }

  /// Gives several values at once to everybody bound to their channels: all objects have all of them
  /// before anybody is told of one.
  public func send(_ batch: ChannelBatch, excluding sender: AnyObject? = nil) {
    guard !batch.isEmpty else { return }
    send(batch.entries, excluding: sender)
  }

  package func send(_ entries: [BatchEntry], excluding sender: AnyObject?) {
    guard !isDelivering else { return enqueue(.values(entries, excluding: sender)) }
    isDelivering = true
    deliver(entries, excluding: sender)
    settle()
  }

  /// Hands a new binding what its channel remembers.
  func replay(to binding: ChannelBinding) {
    guard !isDelivering else { return enqueue(.memory(to: binding)) }
    isDelivering = true
    deliverMemory(to: binding)
    settle()
  }
}

// MARK: - Delivery

/// What waits while something is delivered.
struct QueuedDelivery {
  enum Contents {
    case values([BatchEntry], excluding: AnyObject?)
    case memory(to: ChannelBinding)
  }

  var contents: Contents
  /// How many sends led to this one.
  var depth: Int
}

extension ChannelHub {
  private func enqueue(_ next: QueuedDelivery.Contents) {
    let depth = depth + 1
    if depth > limits.maxCascadeDepth { return refuse(next, .cascadeTooDeep) }
    if queue.count - deliveredCount >= limits.maxQueuedSendCount { return refuse(next, .queueFull) }
    queue.append(.init(contents: next, depth: depth))
    hasMoreToDo = true
  }

  private func refuse(_ contents: QueuedDelivery.Contents, _ kind: ChannelDiagnostic.Kind) {
    switch contents {
    case .values(let entries, _):
      guard let first = entries.first else { return }
      report(kind, of: [first.value], at: first.address)
    case .memory(let binding):
      guard let node = binding.node?.takeUnretainedValue() else { return }
      report(kind, of: node.remembered?.values ?? [], at: node.address)
    }
  }

  func report(
    _ kind: ChannelDiagnostic.Kind, of values: [BatchValue], at address: ChannelAddress
  ) {
    let properties = values.map { "\($0.property)" }.joined(separator: ", ")
    report(ChannelDiagnostic(kind: kind, channel: "\(address)", property: properties))
  }

  /// Delivers what listeners have sent, and what follows from that, until nothing waits; then tells of
  /// what was not delivered.
  @inline(__always)
  func settle() {
    if hasMoreToDo { finishDelivery() }
    isDelivering = false
  }

  private func finishDelivery() {
    isDelivering = true
    deliverQueued()
    tellDiagnostics()
    hasMoreToDo = false
  }

  func deliverQueued() {
    while deliveredCount < queue.count {
      let queued = queue[deliveredCount]
      deliveredCount += 1
      dropDelivered()
      depth = queued.depth
      switch queued.contents {
      case .values(let entries, let sender): deliver(entries, excluding: sender)
      case .memory(let binding): deliverMemory(to: binding)
      }
    }
    queue.removeAll(keepingCapacity: queue.capacity <= Self.keptQueueCapacity)
    deliveredCount = 0
    depth = 0
  }

  /// Lets go of what was delivered once it is the larger part, so that each costs O(1).
  private func dropDelivered() {
    guard deliveredCount > Self.keptQueueCapacity, deliveredCount * 2 > queue.count else { return }
    queue.removeFirst(deliveredCount)
    deliveredCount = 0
  }

  private static let keptQueueCapacity = 64

  @inline(__always)
  private func deliver<Value>(
    _ value: Value, of property: AnyKeyPath, on address: ChannelAddress,
    excluding sender: AnyObject?
  ) {
    let newest = newestSerial
    if limits.maxRememberedValueCount > 0 {
      remember(value, of: property, at: address)
    }
    if let listeners = listeners(at: address) {
      listeners.forEach(since: newest, excluding: sender) {
        $0.apply(value, of: property, by: routes)
      }
      if listeners.hasAnnouncers {
        announce(value, of: property, to: listeners, since: newest, excluding: sender)
      }
    }
    if hasTaps {
      let entry = BatchEntry(
        address: address, value: TypedBatchValue(property: property, value: value))
      tellTaps(of: [entry], excluding: sender)
    }
  }

  @inline(never)
  private func announce<Value>(
    _ value: Value, of property: AnyKeyPath, to listeners: ChannelListeners,
    since newest: UInt64, excluding sender: AnyObject?
  ) {
    listeners.forEach(
      since: newest, excluding: sender, { $0.announce(value, of: property) },
      passingOver: { $0.passOver(value, of: property) })
  }

  private func deliver(_ entries: [BatchEntry], excluding sender: AnyObject?) {
    let newest = newestSerial
    for entry in entries {
      if limits.maxRememberedValueCount > 0 {
        entry.value.remember(at: entry.address, in: self)
      }
      listeners(at: entry.address)?.forEach(since: newest, excluding: sender) {
        entry.value.apply(to: $0, by: routes)
      }
    }
    for entry in entries {
      guard let listeners = listeners(at: entry.address), listeners.hasAnnouncers else { continue }
      listeners.forEach(
        since: newest, excluding: sender, { entry.value.announce(to: $0) },
        passingOver: { entry.value.passOver($0) })
    }
    if hasTaps { tellTaps(of: entries, excluding: sender) }
  }

  private func deliverMemory(to binding: ChannelBinding) {
    guard let values = binding.node?.takeUnretainedValue().remembered?.values else { return }
    for value in values where binding.isActive { value.apply(to: binding, by: routes) }
    for value in values where binding.isActive { value.announce(to: binding) }
  }
}

// MARK: - Taps

/// Listens to all channels of a subject type, for links.
package protocol SubjectTap: AnyObject {
  /// Told of values of the subject's channels that were sent together, after everybody bound to them; may
  /// stamp them for the taps after it.
  func sent(_ entries: inout [BatchEntry], excluding sender: AnyObject?, in hub: ChannelHub)
  /// Told once all taps have been told of all values that were sent together.
  func finishBatch(in hub: ChannelHub)
}

extension ChannelHub {
  private func tellTaps(of entries: [BatchEntry], excluding sender: AnyObject?) {
    for (subject, taps) in taps {
      var own = entries.filter { ObjectIdentifier($0.address.subject) == subject }
      guard !own.isEmpty else { continue }
      for tap in taps { tap.sent(&own, excluding: sender, in: self) }
    }
    for tap in taps.values.joined() { tap.finishBatch(in: self) }
  }
}
