/// Remembers where properties go, so that sending compares two addresses instead of key paths.
///
/// Each use of a literal such as `\.name` in a program is a key path object of its own, made once.
/// The cache is direct-mapped: a pair of a key path object and a map has one place, which the next
/// pair that falls there takes over. It holds both, so no address can come to mean something else.
final class RouteCache {
  static let entryCount = 64

  /// What the cache holds, by hand, so that a look-up counts no references.
  private struct Entry {
    var property: Unmanaged<AnyKeyPath>
    var table: Unmanaged<AnyObject>
    var route: Unmanaged<AnyObject>?

    func release() {
      property.release()
      table.release()
      route?.release()
    }
  }

  /// A buffer of its own rather than an array, to spare each send the checks of exclusive access.
  private let entries: UnsafeMutablePointer<Entry?>

  init() {
    entries = .allocate(capacity: Self.entryCount)
    entries.initialize(repeating: nil, count: Self.entryCount)
  }

  deinit {
    for place in 0..<Self.entryCount { entries[place]?.release() }
    entries.deinitialize(count: Self.entryCount)
    entries.deallocate()
  }

  /// The `ValueRoute<Object, Value>` of a property in a map's table, or `nil` if the map does not
  /// accept it.
  ///
  /// It is valid until the next look-up. There is none meanwhile: look-ups are made by deliveries only,
  /// and deliveries do not nest.
  func route<Object, Value>(
    for property: AnyKeyPath, in table: RouteTable<Object>, _: Value.Type
  ) -> Unmanaged<AnyObject>? {
    let keys = (Unmanaged.passUnretained(property), Unmanaged<AnyObject>.passUnretained(table))
    let (first, second) = (keys.0.toOpaque(), keys.1.toOpaque())
    let place = Self.place(UInt(bitPattern: first), UInt(bitPattern: second))
    if let entry = entries[place], entry.property.toOpaque() == first,
      entry.table.toOpaque() == second
    {
      return entry.route
    }
    let route = table.route(for: property, Value.self).map { Unmanaged<AnyObject>.passRetained($0) }
    entries[place]?.release()
    entries[place] = Entry(property: keys.0.retain(), table: keys.1.retain(), route: route)
    return route
  }

  /// Objects are aligned to 16 bytes; Fibonacci hashing spreads what is left over the 64 places.
  private static func place(_ property: UInt, _ table: UInt) -> Int {
    Int(truncatingIfNeeded: ((property >> 4 ^ table >> 3) &* 0x9E37_79B9_7F4A_7C15) >> 58)
  }
}
