extension String {
  /// Whether two strings are the same bytes; `==` calls a composed and a decomposed é equal.
  func isIdenticalByBytes(to other: String) -> Bool {
    utf8.elementsEqual(other.utf8)
  }

  /// Feeds the bytes to `hasher`, and their count to keep neighbours apart.
  func hashBytes(into hasher: inout Hasher) {
    var bytes = self
    hasher.combine(utf8.count)
    bytes.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
