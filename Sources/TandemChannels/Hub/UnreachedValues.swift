/// A hub's record of the sends that reached nobody, so that each mistake is reported once.
struct UnreachedValues {
  /// The types of the ids of all channels that were ever bound, by subject type and by kind of address.
  private var boundIDTypes: [ObjectIdentifier: [ObjectIdentifier: Any.Type]] = [:]
  private var lastBoundKind: ObjectIdentifier?
  private var reportedKinds: Set<ObjectIdentifier> = []
  private var reportedProperties: Set<AnyKeyPath> = []
  /// Pairs of a channel's first binding and a property that were examined: a direct-mapped cache. The objects are not
  /// kept, so another pair may have the same addresses later, and is not examined.
  private var examinedPairs = [Pair?](repeating: nil, count: pairCount)

  private struct Pair: Equatable {
    var binding: ObjectIdentifier
    var property: ObjectIdentifier

    /// The place in the cache: objects are aligned to 16 bytes, and Fibonacci hashing spreads what is left.
    var place: Int {
      let bits = UInt(bitPattern: binding) >> 4 ^ UInt(bitPattern: property) >> 3
      return Int((bits &* 0x9E37_79B9_7F4A_7C15) >> 32) & (UnreachedValues.pairCount - 1)
    }
  }

  /// A power of two.
  private static let pairCount = 64
  /// A path through a subscript is another property for each index.
  private static let maxReportedPropertyCount = 1024

  /// Takes note of a binding; returns true if it may be the first one of its kind.
  mutating func noteBinding(at address: ChannelAddress) -> Bool {
    guard address.kind != lastBoundKind else { return false }
    lastBoundKind = address.kind
    boundIDTypes[ObjectIdentifier(address.subject), default: [:]][address.kind] = address.idType
    return true
  }

  /// Returns the types of ids with which the subject is bound, if the address has an id of another type. Returns
  /// `nil` the next time.
  mutating func otherIDTypes(than address: ChannelAddress) -> [Any.Type]? {
    guard let bound = boundIDTypes[ObjectIdentifier(address.subject)], bound[address.kind] == nil,
      reportedKinds.insert(address.kind).inserted
    else { return nil }
    return Array(bound.values)
  }

  /// Returns true if a property has not been examined for the channel of the binding.
  mutating func mustExamine(_ property: AnyKeyPath, first binding: ChannelBinding) -> Bool {
    let pair = Pair(binding: ObjectIdentifier(binding), property: ObjectIdentifier(property))
    guard examinedPairs[pair.place] != pair else { return false }
    examinedPairs[pair.place] = pair
    return true
  }

  /// Returns true if no value of the property was reported yet.
  mutating func mustReport(_ property: AnyKeyPath) -> Bool {
    reportedProperties.count < Self.maxReportedPropertyCount
      && reportedProperties.insert(property).inserted
  }
}
