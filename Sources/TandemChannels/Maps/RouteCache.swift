/// Caches the routes of properties, so that a send compares two addresses instead of key paths.
///
/// Each use of a literal such as `\.name` in a program is a key path object of its own, made once.
/// The cache is direct-mapped: a pair of a key path object and a map has one place, and replaces the pair there. An
/// entry holds both objects, so no other object can get their addresses.
final class RouteCache {
  static let entryCount = 64

  /// An entry with manual reference counts, so that a look-up counts no references.
  struct Entry {
    fileprivate var property: Unmanaged<AnyKeyPath>
    fileprivate var table: Unmanaged<AnyObject>
    /// The `ValueRoute<Object, Value>` of a property, or `nil` if the map does not accept it.
    ///
    /// It is valid until the next look-up. There is none meanwhile: look-ups are made by deliveries
    /// only, and deliveries do not nest.
    fileprivate(set) var route: Unmanaged<AnyObject>?

    fileprivate func release() {
      property.release()
      table.release()
      route?.release()
    }
  }

  /// True once a binding has refused a value: its map has no route for the property, or it observes another one.
  var hasRefused = false

  /// Allocated memory instead of an array, because an array costs each send checks of exclusive access.
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

  /// The route of a property in a map's table, if it is cached.
  @inline(__always)
  func known(_ property: AnyKeyPath, in table: ObjectIdentifier) -> Entry? {
    let property = ObjectIdentifier(property)
    guard let entry = entries[Self.place(property, table)],
      entry.property.identity == property, entry.table.identity == table
    else { return nil }
    return entry
  }

  /// Finds the route of a property in a map's table, and caches it.
  func find<Object, Value>(
    _ property: AnyKeyPath, in table: RouteTable<Object>, _: Value.Type
  ) -> Entry {
    let route = table.route(for: property, Value.self)
    let entry = Entry(
      property: .passRetained(property), table: .passRetained(table),
      route: route.map { .passRetained($0) })
    let place = Self.place(ObjectIdentifier(property), ObjectIdentifier(table))
    entries[place]?.release()
    entries[place] = entry
    return entry
  }

  /// Objects are aligned to 16 bytes; Fibonacci hashing spreads what is left over the 64 places.
  @inline(__always)
  private static func place(_ property: ObjectIdentifier, _ table: ObjectIdentifier) -> Int {
    let (property, table) = (UInt(bitPattern: property), UInt(bitPattern: table))
    return Int(truncatingIfNeeded: ((property >> 4 ^ table >> 3) &* 0x9E37_79B9_7F4A_7C15) >> 58)
  }
}

extension Unmanaged {
  /// The identity of the object, without counting a reference.
  fileprivate var identity: ObjectIdentifier { _withUnsafeGuaranteedRef { ObjectIdentifier($0) } }
}
