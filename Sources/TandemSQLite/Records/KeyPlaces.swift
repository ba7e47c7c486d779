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
  private var placesByName: [String: Int32] = [:]

  init(_ names: [String]) {
    self.names = names
    guard MemoryLayout<Key>.size <= 1, _isPOD(Key.self) else {
      table = nil
      return
    }
    table = .allocate(capacity: 256)
    table?.initialize(repeating: Self.unknown, count: 256)
  }

  deinit { table?.deallocate() }

  /// The place of a key's name; `nil` if there is none.
  subscript(_ key: Key) -> Int32? {
    guard let table else { return placeByName(key.stringValue) }
    let byte = withUnsafeBytes(of: key) { $0.isEmpty ? 0 : Int($0[0]) }
    let place = table[byte]
    if place >= 0 { return place }
    return place == Self.none ? nil : remember(key, at: &table[byte])
  }

  private func remember(_ key: Key, at entry: inout Int32) -> Int32? {
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
