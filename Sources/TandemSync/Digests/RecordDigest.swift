package import TandemRecords

/// A digest of a set of records, 128 bits: the sum of the records' hashes modulo 2^128.
///
/// The sum does not depend on the order in which records are added, and a record that is removed
/// leaves no trace. So a space and its replicas maintain the digest at the cost of the changed
/// records, and compare whole states by 16 bytes. The hash of a record is the first half of the
/// SHA-256 of its ``RecordEncoding``, as a big-endian number (``RecordHasher``).
///
/// The digest detects accidents, such as a missed change. A sum of hashes does not withstand
/// somebody who constructs records on purpose.
package struct RecordDigest: Hashable, Sendable {
  /// The sum.
  package private(set) var bits: UInt128

  /// The digest of no record.
  package static let empty = RecordDigest(bits: 0)

  /// A digest of given bits.
  package init(bits: UInt128) { self.bits = bits }

  /// Adds a record that the set does not contain.
  package mutating func add(
    _ key: SyncKey, _ fields: Record, by hasher: RecordHasher = RecordHasher()
  ) {
    bits &+= hasher.hash(key, fields)
  }

  /// Removes a record that the set contains.
  package mutating func remove(
    _ key: SyncKey, _ fields: Record, by hasher: RecordHasher = RecordHasher()
  ) {
    bits &-= hasher.hash(key, fields)
  }

  /// Adds another set, which has no record in common with this one.
  package mutating func add(_ other: RecordDigest) { bits &+= other.bits }
}

extension RecordDigest: CustomStringConvertible {
  /// Reads 32 hexadecimal digits in lower case. Returns `nil` for any other text.
  package init?(_ text: some StringProtocol) {
    guard let bits = Hexadecimal.value(of: text, as: UInt128.self) else { return nil }
    self.init(bits: bits)
  }

  /// The bits in 32 hexadecimal digits, in lower case.
  package var description: String { Hexadecimal.text(of: bits) }
}
