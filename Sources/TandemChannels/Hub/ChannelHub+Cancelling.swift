extension ChannelHub {
  /// Cancels all bindings and subscriptions of an object, on all channels: those of which it is the object or the
  /// owner.
  ///
  /// Nothing is delivered to them any more, not even the rest of a running delivery.
  ///
  /// - Returns: The number of bindings that were active.
  /// - Complexity: O(bindings of the hub). To end few bindings, ``ChannelBinding/cancel()`` costs less.
  @discardableResult
  public func cancelBindings(of object: AnyObject) -> Int {
    cancel(at: nodes) { $0.belongs(to: object) }
  }

  /// Cancels all bindings and subscriptions of an object on one channel.
  ///
  /// - Returns: The number of bindings that were active.
  /// - Complexity: O(bindings of the channel).
  @discardableResult
  public func cancelBindings<Subject>(
    of object: AnyObject, on channel: Channel<Subject>
  ) -> Int {
    cancel(at: node(at: channel.address).map { [$0] } ?? []) { $0.belongs(to: object) }
  }

  /// Cancels all bindings and subscriptions of a channel. Remembered values stay; see ``forget(_:)``.
  ///
  /// - Returns: The number of bindings that were active.
  /// - Complexity: O(bindings of the channel).
  @discardableResult
  public func cancelBindings<Subject>(on channel: Channel<Subject>) -> Int {
    cancel(at: node(at: channel.address).map { [$0] } ?? []) { _ in true }
  }

  /// Cancels all bindings and subscriptions of all channels of a subject type.
  ///
  /// - Returns: The number of bindings that were active.
  /// - Complexity: O(channels of the hub).
  @discardableResult
  public func cancelBindings<Subject>(ofSubject _: Subject.Type) -> Int {
    let subject = ObjectIdentifier(Subject.self)
    return cancel(at: nodes.filter { ObjectIdentifier($0.address.subject) == subject }) { _ in
      true
    }
  }

  private func cancel(at nodes: [ChannelNode], where isMeant: (ChannelBinding) -> Bool) -> Int {
    let bindings = nodes.flatMap(\.bindings).filter { $0.isActive && isMeant($0) }
    for binding in bindings { binding.cancel() }
    return bindings.count
  }
}
