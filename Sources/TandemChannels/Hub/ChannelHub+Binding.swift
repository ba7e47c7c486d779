extension ChannelHub {
  /// Binds an object to a channel: values that are sent there are written to the properties that the map names.
  ///
  /// Nothing is written now, unless the hub remembers values of the channel
  /// (``ChannelLimits/maxRememberedValueCount``). The object is not kept alive. An object may have any number of
  /// independent bindings; two equal bindings write each value twice.
  ///
  /// - Parameters:
  ///   - object: the object to write to.
  ///   - channel: the channel whose values are written.
  ///   - map: the properties to write.
  ///   - previous: a binding that is cancelled first.
  /// - Returns: the token that ends the binding; it need not be kept.
  @discardableResult
  public func bind<Subject, Object: AnyObject>(
    _ object: Object, to channel: Channel<Subject>, through map: KeyPathMap<Subject, Object>,
    replacing previous: ChannelBinding? = nil
  ) -> ChannelBinding {
    previous?.cancel()
    let binding = ObjectBinding(
      object, table: map.table, hasHooks: map.hasDidChangeHooks)
    register(binding, at: channel.address)
    return binding
  }

  /// Binds an object to a channel whose subject is the object's own type, every property to itself.
  @discardableResult
  public func bind<Object: AnyObject>(
    _ object: Object, to channel: Channel<Object>, replacing previous: ChannelBinding? = nil
  ) -> ChannelBinding {
    bind(object, to: channel, through: .identity, replacing: previous)
  }

  /// Binds a value that an object holds, such as an element of an array, to a channel.
  ///
  /// <!-- Snippets/CodeInComments.swift access -->
  /// ```swift
  /// hub.bind(store, to: channel, through: map) { store, change in
  ///   if let place = store.rows.firstIndex(where: { $0.id == 7 }) { change(&store.rows[place]) }
  /// }
  /// ```
  ///
  /// Hooks and conversions are called while the value is not being written, so they may read the object that
  /// holds it.
  ///
  /// - Parameters:
  ///   - owner: the object that holds the value.
  ///   - channel: the channel whose values are written.
  ///   - map: the properties to write.
  ///   - previous: a binding that is cancelled first.
  ///   - access: called with the object for each value that arrives, and once more before that for a hook or a
  ///     conversion. It calls its argument with the value to change, or not at all if there is none.
  @discardableResult
  public func bind<Subject, Owner: AnyObject, Target>(
    _ owner: Owner, to channel: Channel<Subject>, through map: KeyPathMap<Subject, Target>,
    replacing previous: ChannelBinding? = nil,
    access: @escaping (_ owner: Owner, _ change: (inout Target) -> Void) -> Void
  ) -> ChannelBinding {
    previous?.cancel()
    let binding = AccessBinding(
      owner, access: access, table: map.table, hasHooks: map.hasDidChangeHooks)
    register(binding, at: channel.address)
    return binding
  }
}
