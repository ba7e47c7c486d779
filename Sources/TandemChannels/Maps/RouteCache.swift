/// Remembers where properties go, so that sending compares two addresses instead of key paths.
///
/// Each use of a literal such as `\.name` in a program is a key path object of its own, made once.
/// The cache is direct-mapped: a pair of a key path object and a map has one place, which the next
/// pair that falls there takes over. It holds both, so no address can come to mean something else.
final class RouteCache {
  static let entryCount = 64

  private struct Entry {
    var property: AnyKeyPath?
    var table: AnyObject?
    var route: AnyObject?
  }

  /// A buffer of its own rather than an array, to spare each send the checks of exclusive access.
  private let entries: UnsafeMutablePointer<Entry>

  init() {
    entries = .allocate(capacity: Self.entryCount)
    entries.initialize(repeating: Entry(), count: Self.entryCount)
  }

  deinit {
    entries.deinitialize(count: Self.entryCount)
    entries.deallocate()
  }

  /// The route of a property in a map's table, or `nil` if the map does not accept it.
  func route<Object, Value>(
    for property: AnyKeyPath, in table: RouteTable<Object>, _: Value.Type
  ) -> ValueRoute<Object, Value>? {
    let place = Self.place(property, table)
    if entries[place].property === property, entries[place].table === table {
      guard let route = entries[place].route else { return nil }
      // The table's routes are for its objects, and equal key paths have equal value types.
      return unsafeDowncast(route, to: ValueRoute<Object, Value>.self)
    }
    let route = table.route(for: property, Value.self)
    entries[place] = Entry(property: property, table: table, route: route)
    return route
  }

  /// Objects are aligned to 16 bytes; Fibonacci hashing spreads what is left over the 64 places.
  private static func place(_ property: AnyKeyPath, _ table: AnyObject) -> Int {
    let first = UInt(bitPattern: ObjectIdentifier(property)) >> 4
    let second = UInt(bitPattern: ObjectIdentifier(table)) >> 3
    return Int(truncatingIfNeeded: ((first ^ second) &* 0x9E37_79B9_7F4A_7C15) >> 58)
  }
}
