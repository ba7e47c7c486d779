/// The keys of rows of one table that may have changed; never one too few.
///
/// Memory is bounded: beyond ``maxCount`` keys it only knows that there are many.
package struct TouchedKeys: Sendable {
  /// The most keys that are told apart.
  package static let maxCount = 100_000

  private var known: Set<RowKey> = []
  private var isTooMany = false

  /// No key.
  package init() {}

  /// So many that they are not told apart.
  package static var many: TouchedKeys {
    var keys = TouchedKeys()
    keys.insertMany()
    return keys
  }

  /// The keys, or `nil` if there are too many.
  package var keys: Set<RowKey>? { isTooMany ? nil : known }

  /// Whether no row was touched.
  package var isEmpty: Bool { known.isEmpty && !isTooMany }

  /// Adds a key.
  package mutating func insert(_ key: RowKey) {
    guard !isTooMany else { return }
    known.insert(key)
    if known.count > TouchedKeys.maxCount { insertMany() }
  }

  /// Adds keys that cannot be told apart.
  package mutating func insertMany() {
    isTooMany = true
    known = []
  }

  /// Adds the keys of `other`.
  package mutating func formUnion(_ other: TouchedKeys) {
    if other.isTooMany {
      insertMany()
    } else if isEmpty {
      self = other
    } else if !isTooMany {
      known.formUnion(other.known)
      if known.count > TouchedKeys.maxCount { insertMany() }
    }
  }
}
