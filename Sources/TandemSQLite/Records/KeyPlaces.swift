/// The place of each key of a `Codable` type among named columns.
///
/// A key is looked up by name once. If it is an enumeration's case without a payload, as the
/// compiler generates them, it consists of one byte, which finds the place from then on.
final class KeyPlaces<Key: CodingKey> {
  private static var unknown: Int32 { -2 }
  private static var none: Int32 { -1 }

  private let names: [String]
  /// By the key's byte; `nil` if keys are not single bytes.
  private let table: UnsafeMutablePointer<Int32>?
  /// False if there is only one key, which then has no bits.
  private let hasByte: Bool
  private var placesByName: [String: Int32] = [:]

  init(_ names: [String]) {
    self.names = names
    hasByte = MemoryLayout<Key>.size > 0
    guard MemoryLayout<Key>.size <= 1, _isPOD(Key.self) else {
      table = nil
      return
    }
    table = .allocate(capacity: 256)
    table?.initialize(repeating: Self.unknown, count: 256)
  }

  deinit { table?.deallocate() }

  /// The place of a key's name; `nil` if there is none.
  @inline(__always)
  subscript(_ key: Key) -> Int32? {
    guard let table else { return placeByName(key.stringValue) }
    let byte = hasByte ? Int(unsafeBitCast(key, to: UInt8.self)) : 0
    let place = table[byte]
    return place >= 0 ? place : remember(key, at: &table[byte])
  }

  @inline(never)
  private func remember(_ key: Key, at entry: inout Int32) -> Int32? {
    guard entry != Self.none else { return nil }
    let place = find(key.stringValue)
    entry = place
    return place >= 0 ? place : nil
  }

  private func placeByName(_ name: String) -> Int32? {
    if let place = placesByName[name] { return place }
    let place = find(name)
    guard place >= 0 else { return nil }
    placesByName[name] = place
    return place
  }

  private func find(_ name: String) -> Int32 {
    names.firstIndex(where: name.isSameSQLName).map { Int32(truncatingIfNeeded: $0) } ?? Self.none
  }
}
