/// The text around and between the objects of an array.
struct ArrayLayout {
  /// The text before the first object.
  let start: [UInt8]
  /// The text between two objects.
  let separator: [UInt8]
  /// The text behind the last object.
  let end: [UInt8]
  /// True if the array has no object, so that the layout is the usual one.
  let isEmpty: Bool
  let emptyText: [UInt8]
  let lineEnd: [UInt8]

  init(_ list: ListText) {
    isEmpty = list.objects.isEmpty
    guard let first = list.objects.first, let last = list.objects.last else {
      start = Array("[\n".utf8)
      separator = Array(",\n".utf8)
      end = Array("\n]\n".utf8)
      emptyText = []
      lineEnd = [ASCII.lineFeed]
      return
    }
    let bytes = list.bytes
    start = Array(bytes[..<first.lowerBound])
    end = Array(bytes[last.upperBound...])
    let opener = start.lastIndex(of: ASCII.openBracket) ?? 0
    let indent = start[(opener + 1)...]
    separator =
      list.objects.count > 1
      ? Array(bytes[first.upperBound..<list.objects[1].lowerBound]) : [ASCII.comma] + indent
    emptyText = Array(start[...opener]) + end.drop { ASCII.isSpace($0) }
    lineEnd = list.lineEnd
  }

  /// The white space between a comma and the next object.
  var space: [UInt8] {
    let comma = separator.firstIndex(of: ASCII.comma) ?? 0
    return Array(separator[(comma + 1)...])
  }

  /// The white space before an object on a line of its own.
  var indent: [UInt8] {
    let space = space
    guard let lineFeed = space.lastIndex(of: ASCII.lineFeed) else { return [] }
    return Array(space[(lineFeed + 1)...])
  }

  func isAtLineStart(_ text: [UInt8]) -> Bool { text.last == ASCII.lineFeed }

  /// Ends the current line, without white space at its end.
  func endLine(_ text: inout [UInt8]) {
    while let last = text.last, last == ASCII.space || last == ASCII.tab { text.removeLast() }
    if !text.isEmpty, !isAtLineStart(text) { text += lineEnd }
  }

  /// The text behind the last object, at the start of a line.
  var endAfterLine: [UInt8] {
    end.starts(with: lineEnd) ? Array(end.dropFirst(lineEnd.count)) : end
  }
}
