extension ChannelHub {
  /// Delivers a value to all bindings of a channel, and returns when they have it.
  ///
  /// During a delivery, as in a hook or a subscriber, it queues the value and returns at once.
  ///
  /// - Parameters:
  ///   - property: the property of the subject.
  ///   - value: the new value of the property.
  ///   - channel: the channel to send to.
  ///   - sender: an object or a binding to exclude; the bindings of the object do not get the value.
  /// - Complexity: O(listeners of the channel).
  public func send<Subject, Value>(
    _ property: KeyPath<Subject, Value>, _ value: Value, on channel: Channel<Subject>,
    excluding sender: AnyObject? = nil
  ) {
    guard !isDelivering else {
      let entry = BatchEntry(
        address: channel.address, value: TypedBatchValue(property: property, value: value))
      return enqueue(.values([entry], excluding: sender, isOwn: true))
    }
    isDelivering = true
    deliver(value, of: property, on: channel.address, excluding: sender)
    settle()
  }

  /// Delivers several values together: all objects have all of them before any hook or subscriber is notified of
  /// one.
  public func send(_ batch: ChannelBatch, excluding sender: AnyObject? = nil) {
    guard !batch.isEmpty else { return }
    send(batch.entries, excluding: sender, isOwn: true)
  }

  /// - Parameter isOwn: True if the application chose these values to be sent, false if everything that changed
  ///   somewhere is sent. Of these, nobody may want some.
  package func send(_ entries: [BatchEntry], excluding sender: AnyObject?, isOwn: Bool = false) {
    guard !isDelivering else {
      return enqueue(.values(entries, excluding: sender, isOwn: isOwn))
    }
    isDelivering = true
    deliver(entries, excluding: sender, isOwn: isOwn)
    settle()
  }

  /// Delivers the remembered values of a channel to a new binding.
  func replay(to binding: ChannelBinding) {
    guard !isDelivering else { return enqueue(.memory(to: binding)) }
    isDelivering = true
    deliverMemory(to: binding)
    settle()
  }
}

// MARK: - Delivery

/// A delivery that waits for a running one.
struct QueuedDelivery {
  enum Contents {
    case values([BatchEntry], excluding: AnyObject?, isOwn: Bool)
    case memory(to: ChannelBinding)
  }

  var contents: Contents
  /// The number of sends that caused this one.
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
    case .values(let entries, _, _):
      guard let first = entries.first else { return }
      report(kind, of: [first.value], at: first.address)
    case .memory(let binding):
      guard let node = binding.node?.takeUnretainedValue() else { return }
      report(kind, of: node.remembered?.batchValues ?? [], at: node.address)
    }
  }

  func report(
    _ kind: ChannelDiagnostic.Kind, of values: [BatchValue], at address: ChannelAddress
  ) {
    let properties = values.map { "\($0.property)" }.joined(separator: ", ")
    report(ChannelDiagnostic(kind: kind, channel: "\(address)", property: properties))
  }

  /// Delivers the values that listeners have sent, and those that these cause, until nothing waits; then reports
  /// the values that were not delivered.
  @inline(__always)
  func settle() {
    if hasMoreToDo { finishDelivery() }
    isDelivering = false
  }

  private func finishDelivery() {
    isDelivering = true
    deliverQueued()
    reportDiagnostics()
    hasMoreToDo = false
  }

  func deliverQueued() {
    while deliveredCount < queue.count {
      let queued = queue[deliveredCount]
      deliveredCount += 1
      dropDelivered()
      depth = queued.depth
      switch queued.contents {
      case .values(let entries, let sender, let isOwn):
        deliver(entries, excluding: sender, isOwn: isOwn)
      case .memory(let binding): deliverMemory(to: binding)
      }
    }
    queue.removeAll(keepingCapacity: queue.capacity <= Self.keptQueueCapacity)
    deliveredCount = 0
    depth = 0
  }

  /// Removes the delivered part of the queue once it is the larger one, so each delivery costs O(1).
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
      if listeners.hasNotified {
        notify(value, of: property, to: listeners, since: newest, excluding: sender)
      }
      if routes.hasRefused {
        examineRefused(property, Value.self, at: address, by: listeners, since: newest)
      }
    } else if address.kind != examinedKind {
      examineUnbound(property, at: address)
    }
    if hasSendObservers {
      let entry = BatchEntry(
        address: address, value: TypedBatchValue(property: property, value: value))
      notifySendObservers(of: [entry], excluding: sender)
    }
  }

  @inline(never)
  private func notify<Value>(
    _ value: Value, of property: AnyKeyPath, to listeners: ChannelListeners,
    since newest: UInt64, excluding sender: AnyObject?
  ) {
    listeners.forEach(
      since: newest, excluding: sender, { $0.notify(value, of: property) },
      suppressing: { $0.suppress(value, of: property) })
  }

  private func deliver(_ entries: [BatchEntry], excluding sender: AnyObject?, isOwn: Bool) {
    let newest = newestSerial
    for entry in entries {
      if limits.maxRememberedValueCount > 0 {
        entry.value.remember(at: entry.address, in: self)
      }
      guard let listeners = listeners(at: entry.address) else {
        if entry.address.kind != examinedKind {
          examineUnbound(entry.value.property, at: entry.address)
        }
        continue
      }
      listeners.forEach(since: newest, excluding: sender) {
        entry.value.apply(to: $0, by: routes)
      }
      if isOwn, routes.hasRefused { examineRefused(entry, by: listeners, since: newest) }
    }
    for entry in entries {
      guard let listeners = listeners(at: entry.address), listeners.hasNotified else { continue }
      listeners.forEach(
        since: newest, excluding: sender, { entry.value.notify($0) },
        suppressing: { entry.value.suppress($0) })
      if isOwn, routes.hasRefused { examineRefused(entry, by: listeners, since: newest) }
    }
    if hasSendObservers { notifySendObservers(of: entries, excluding: sender) }
  }

  private func deliverMemory(to binding: ChannelBinding) {
    guard let values = binding.node?.takeUnretainedValue().remembered?.batchValues else { return }
    for value in values where binding.isActive { value.apply(to: binding, by: routes) }
    for value in values where binding.isActive { value.notify(binding) }
  }
}

// MARK: - Observers of all sends

/// Observes everything that a hub sends, for links to other hubs.
package protocol SendObserver: AnyObject {
  /// Called with values that were sent together, after all bindings have them.
  ///
  /// - Parameter sender: the object that the send excludes.
  func sent(_ entries: [BatchEntry], excluding sender: AnyObject?, in hub: ChannelHub)
}

extension ChannelHub {
  private func notifySendObservers(of entries: [BatchEntry], excluding sender: AnyObject?) {
    for observer in sendObservers { observer.sent(entries, excluding: sender, in: self) }
  }

  /// Removes an observer.
  package func stopObservingSends(_ observer: any SendObserver) {
    sendObservers.removeAll { $0 === observer }
  }
}
