extension JSONCursor {
  /// The maximum number of objects and arrays around a list that is looked for.
  private static let maxListDepth = 3
  /// The maximum number of lists that are looked for.
  private static let maxListCount = 3

  /// The paths to the arrays of objects inside the object or array that a text begins with, as far as the text goes: it
  /// may be the beginning of a longer one, or no JSON.
  ///
  /// - Parameter path: The path to the text, if it is that of a value inside another.
  package static func listPaths(
    in bytes: UnsafeRawBufferPointer, at path: String = ""
  ) -> [String] {
    let validCount = UTF8Validation(bytes, from: 0).validCount
    let text = UnsafeRawBufferPointer(rebasing: bytes[..<validCount])
    var cursor = JSONCursor(text, maxNestingDepth: RecordLimits().maxNestingDepth)
    cursor.index = ByteOrderMark.byteCount(in: text)
    cursor.skipSpace()
    var paths: [String] = []
    try? cursor.findLists(at: path, depth: path.isEmpty ? 0 : 1, &paths)
    return paths
  }

  private mutating func findLists(
    at path: String, depth: Int, _ paths: inout [String]
  ) throws(TextFault) {
    switch byte {
    case ASCII.openBrace where depth < Self.maxListDepth:
      guard try openObject() else { return }
      repeat {
        let name = try fieldName()
        try findLists(at: path.isEmpty ? name : "\(path).\(name)", depth: depth + 1, &paths)
      } while try hasNextField()
    case ASCII.openBracket:
      let start = index
      guard try openArray() else { return }
      if depth == 0 { return try findListsInElements(&paths) }
      if byte == ASCII.openBrace, paths.count < Self.maxListCount { paths.append(path) }
      index = start
      try skipValue()
    default: try skipValue()
    }
  }

  /// Looks into the elements of an array around a list, as in `[{"total": 2}, [{}, {}]]`.
  private mutating func findListsInElements(_ paths: inout [String]) throws(TextFault) {
    var position = 0
    repeat {
      if byte == ASCII.openBracket {
        try findLists(at: "\(position)", depth: 1, &paths)
      } else {
        try skipValue()
      }
      position += 1
    } while try hasNextElement() && position < Self.maxListDepth
  }

  /// A clause that names the options for these lists.
  package static func advice(forListsAt paths: [String]) -> String {
    paths.map { "`itemsField` \($0)" }.joined(separator: " or ")
  }
}
