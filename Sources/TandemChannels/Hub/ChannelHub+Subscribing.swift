extension ChannelHub {
  /// Calls a closure with the values of one property, after all objects of the channel have them.
  ///
  /// A value that equals the one before it is suppressed by default.
  ///
  /// - Parameters:
  ///   - property: the property of the subject.
  ///   - channel: the channel to observe.
  ///   - owner: the object during whose lifetime the closure is called, and which is its first argument. It is
  ///     not kept alive, unless the closure captures it instead of using the argument.
  ///     Changes of the owner itself are left out: a closure that stores what an object sends has another owner.
  ///   - equalValues: the treatment of a value that equals the one before it.
  ///   - body: the closure.
  /// - Returns: the token that ends the subscription; it need not be kept.
  @discardableResult
  public func observe<Subject, Value: Equatable, Owner: AnyObject>(
    _ property: KeyPath<Subject, Value>, on channel: Channel<Subject>, for owner: Owner,
    equalValues: EqualValues = .suppressed, _ body: @escaping (Owner, Value) -> Void
  ) -> ChannelBinding {
    subscribe(
      to: property, on: channel,
      ValueReceiver(owner: owner, areEqual: Self.comparison(equalValues)) { [weak owner] value in
        guard let owner else { return false }
        body(owner, value)
        return true
      })
  }

  /// Calls a closure with the values of one property until the token is cancelled or the hub is released.
  @discardableResult
  public func observe<Subject, Value: Equatable>(
    _ property: KeyPath<Subject, Value>, on channel: Channel<Subject>,
    equalValues: EqualValues = .suppressed, _ body: @escaping (Value) -> Void
  ) -> ChannelBinding {
    subscribe(
      to: property, on: channel,
      ValueReceiver(owner: nil, areEqual: Self.comparison(equalValues)) { value in
        body(value)
        return true
      })
  }

  /// Calls a closure with the values of a property that cannot be compared.
  @_disfavoredOverload @discardableResult
  public func observe<Subject, Value>(
    _ property: KeyPath<Subject, Value>, on channel: Channel<Subject>,
    _ body: @escaping (Value) -> Void
  ) -> ChannelBinding {
    subscribe(
      to: property, on: channel,
      ValueReceiver(owner: nil, areEqual: nil) { value in
        body(value)
        return true
      })
  }

  /// Calls a closure with the values of all properties of a channel, after all objects have them.
  ///
  /// Each value is delivered, also if it equals the one before it.
  ///
  /// <!-- Snippets/CodeInComments.swift observing -->
  /// ```swift
  /// hub.observeAllProperties(on: channel, for: model) { model, change in
  ///   if let name = change.value(of: \.name) { model.title = name }
  ///   model.changeCount += 1
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - channel: the channel to observe.
  ///   - owner: the object during whose lifetime the closure is called, and which is its first argument. It is
  ///     not kept alive, unless the closure captures it instead of using the argument.
  ///     Changes of the owner itself are left out: a closure that stores what an object sends has another owner.
  ///   - body: the closure.
  /// - Returns: the token that ends the subscription; it need not be kept.
  @discardableResult
  public func observeAllProperties<Subject, Owner: AnyObject>(
    on channel: Channel<Subject>, for owner: Owner,
    _ body: @escaping (Owner, ChannelPropertyValue<Subject>) -> Void
  ) -> ChannelBinding {
    let subscription = PropertiesSubscription<Subject>(
      ValueReceiver(owner: owner, areEqual: nil) { [weak owner] value in
        guard let owner else { return false }
        body(owner, value)
        return true
      })
    register(subscription, at: channel.address)
    return subscription
  }

  /// The values of one property from now on, after the remembered one, to be iterated once, in any isolation domain.
  ///
  /// The sequence ends when the hub is released or the task is cancelled. If the reader is slower than the senders,
  /// the newest `maxBufferedValueCount` values are kept and older ones are lost. A value that equals the one before it is
  /// suppressed. The hub stops collecting values after the reader has stopped.
  public func values<Subject, Value: Equatable & Sendable>(
    of property: KeyPath<Subject, Value>, on channel: Channel<Subject>,
    maxBufferedValueCount: Int = 64
  ) -> some AsyncSequence<Value, Never> & Sendable {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Value.self, bufferingPolicy: .bufferingNewest(max(1, maxBufferedValueCount)))
    let reader = ValueReader(continuation)
    subscribe(
      to: property, on: channel,
      ValueReceiver(owner: nil, areEqual: (==), isWanted: { !reader.hasEnded }) { value in
        if case .terminated = reader.continuation.yield(value) { return false }
        return true
      })
    return stream
  }

  @discardableResult
  private func subscribe<Subject, Value>(
    to property: KeyPath<Subject, Value>, on channel: Channel<Subject>,
    _ receiver: ValueReceiver<Value>
  ) -> ChannelBinding {
    let subscription = Subscription(
      property: property, receiver: receiver)
    register(subscription, at: channel.address)
    return subscription
  }

  private static func comparison<Value: Equatable>(
    _ equalValues: EqualValues
  ) -> ((Value, Value) -> Bool)? {
    if case .suppressed = equalValues { (==) } else { nil }
  }
}
