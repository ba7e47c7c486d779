extension ChannelHub {
  /// Reports a value for a channel without bindings, if its subject is bound with ids of other types only.
  @inline(never)
  func examineUnbound(_ property: AnyKeyPath, at address: ChannelAddress) {
    examinedKind = address.kind
    guard let types = unreached.otherIDTypes(than: address) else { return }
    let others = types.map { "\($0)" }.sorted().joined(separator: " and ")
    report(
      ChannelDiagnostic(
        kind: .otherIDType,
        channel:
          "\(address) (its id is of type \(address.idType), bound are ids of type \(others))",
        property: "\(property)"))
  }

  /// Reports a value that some binding of a channel has refused, if no other one accepts it.
  @inline(never)
  func examineRefused<Value>(
    _ property: AnyKeyPath, _: Value.Type, at address: ChannelAddress,
    by listeners: ChannelListeners, since newest: UInt64
  ) {
    examine(property, at: address, by: listeners, since: newest) {
      $0.accepts(property, Value.self, by: routes)
    }
  }

  /// Reports a value that some binding of a channel has refused, if no other one accepts it.
  @inline(never)
  func examineRefused(
    _ entry: BatchEntry, by listeners: ChannelListeners, since newest: UInt64
  ) {
    examine(entry.value.property, at: entry.address, by: listeners, since: newest) {
      entry.value.isAccepted(by: $0, routes)
    }
  }

  private func examine(
    _ property: AnyKeyPath, at address: ChannelAddress, by listeners: ChannelListeners,
    since newest: UInt64, _ accepts: (ChannelBinding) -> Bool
  ) {
    routes.hasRefused = false
    guard !hasSendObservers, limits.maxRememberedValueCount == 0,
      unreached.mustExamine(property, first: listeners.first)
    else { return }
    var isAccepted = false
    listeners.forEach(since: newest, excluding: nil) { isAccepted = isAccepted || accepts($0) }
    guard !isAccepted, unreached.mustReport(property) else { return }
    report(
      ChannelDiagnostic(kind: .notMapped, channel: "\(address)", property: "\(property)"))
  }
}
