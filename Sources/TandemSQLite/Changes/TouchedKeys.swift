package import TandemRecords

/// The keys of rows of one table that may have changed: every changed row's, and possibly more.
///
/// Memory is bounded: beyond ``maxCount`` keys it records only that there are too many.
package struct TouchedKeys: Sendable {
  /// The maximum number of keys that are recorded.
  package static let maxCount = 100_000

  private var known: Set<RecordKey> = []
  /// True if there are too many keys to record, so that further ones make no difference.
  package private(set) var isTooMany = false

  /// No key.
  package init() {}

  /// Too many keys to record.
  package static var many: TouchedKeys {
    var keys = TouchedKeys()
    keys.insertMany()
    return keys
  }

  /// The keys, or `nil` if there are too many.
  package var keys: Set<RecordKey>? { isTooMany ? nil : known }

  /// True if no row was touched.
  package var isEmpty: Bool { known.isEmpty && !isTooMany }

  /// Adds a key.
  package mutating func insert(_ key: RecordKey) {
    guard !isTooMany else { return }
    known.insert(key)
    if known.count > TouchedKeys.maxCount { insertMany() }
  }

  /// Adds an unknown number of unknown keys.
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
