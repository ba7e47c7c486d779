extension ListText {
  /// Writes records that were merged from this list and another one, in this list's format and layout.
  ///
  /// The text of a record or field is copied from this list if the record of the same key has an
  /// equal value there, or else from the other list if it has the same format. Other values are
  /// written anew. This list's own records yield its text unchanged.
  ///
  /// - Complexity: O(*n*) in the bytes of the texts.
  package func text(of merged: [Record], key: [String], other: ListText) -> [UInt8] {
    if merged == records { return bytes }
    let sides = (other.format == format ? [self, other] : [self]).map {
      TextSide($0, key: key)
    }
    if format == .csv { return csv(of: merged, key: key, sides) }
    let texts = merged.map { object(of: $0, key: key, sides) }
    return format == .json ? array(of: texts) : Array(texts.map { $0 + [ASCII.lineFeed] }.joined())
  }

  // MARK: - JSON

  /// Writes objects in an array, with the text around and between the objects of this list.
  private func array(of objects: [[UInt8]]) -> [UInt8] {
    guard let first = self.objects.first, let last = self.objects.last, !objects.isEmpty else {
      let lines = objects.joined(separator: Array(",\n".utf8))
      return Array("[\n".utf8) + lines + Array((objects.isEmpty ? "]\n" : "\n]\n").utf8)
    }
    let start = bytes[..<first.lowerBound]
    let indent = start[(start.firstIndex(of: ASCII.openBracket) ?? -1).advanced(by: 1)...]
    let separator =
      self.objects.count > 1
      ? bytes[first.upperBound..<self.objects[1].lowerBound] : [ASCII.comma] + indent
    return Array(start) + objects.joined(separator: separator) + bytes[last.upperBound...]
  }

  private func object(of record: Record, key: [String], _ sides: [TextSide]) -> [UInt8] {
    let id = RecordKey(key.map { record[$0] })
    for side in sides {
      if let position = side.positions[id], side.list.records[position] == record {
        return Array(side.list.bytes[side.list.objects[position]])
      }
    }
    guard let position = sides[0].positions[id] else {
      var text: [UInt8] = []
      RecordWriter.appendJSON(record, to: &text)
      return text
    }
    return object(at: position, changedTo: record) { name in
      sides.lazy.compactMap { $0.bytes(of: record, id, field: name) }.first
        ?? {
          var text: [UInt8] = []
          RecordWriter.appendJSON(record[name], to: &text)
          return text[...]
        }()
    }
  }

  /// Writes an object of this list with other values, and further fields at its end.
  private func object(
    at position: Int, changedTo record: Record, text: (String) -> ArraySlice<UInt8>
  ) -> [UInt8] {
    let old = records[position]
    var result: [UInt8] = []
    var copied = objects[position].lowerBound
    for (name, span) in zip(old.layout.names, values(at: position)) {
      result += bytes[copied..<span.lowerBound]
      result += text(name)
      copied = span.upperBound
    }
    for name in record.layout.names where old.layout.offset(of: name) == nil {
      if !old.layout.names.isEmpty { result.append(ASCII.comma) }
      result.append(quoted: name)
      result.append(ASCII.colon)
      result += text(name)
    }
    return result + bytes[copied..<objects[position].upperBound]
  }

  // MARK: - CSV

  private func csv(of merged: [Record], key: [String], _ sides: [TextSide]) -> [UInt8] {
    let header = row(0)
    let known = records.first?.layout.names ?? merged.first?.layout.names ?? []
    let names = CSVText.names(of: merged, after: known)
    guard !merged.isEmpty else {
      return header.last.map { bytes[..<$0.upperBound] + lineEnd } ?? []
    }
    var text: [UInt8] = []
    let fields = names.enumerated().map { offset, name in
      offset < header.count && !records.isEmpty
        ? Array(bytes[header[header.startIndex + offset]])
        : CSVText.quotedIfNeeded(Array(name.utf8))
    }
    CSVText.appendRow(fields, lineEnd: lineEnd, to: &text)
    for record in merged {
      let id = RecordKey(key.map { record[$0] })
      let cells = names.map { name in
        sides.lazy.compactMap { $0.bytes(of: record, id, field: name) }.first.map { Array($0) }
          ?? CSVText.cell(of: record[name], isQuoted: CSVText.needsQuotes([record[name]]))
      }
      CSVText.appendRow(cells, lineEnd: lineEnd, to: &text)
    }
    return text
  }

  /// The line end of the first line.
  private var lineEnd: [UInt8] {
    let end = row(0).last?.upperBound ?? 0
    let isReturn = end < bytes.count && bytes[end] == ASCII.carriageReturn
    return isReturn ? [ASCII.carriageReturn, ASCII.lineFeed] : [ASCII.lineFeed]
  }
}

/// A list with the position of each key.
private struct TextSide {
  let list: ListText
  let positions: [RecordKey: Int]

  init(_ list: ListText, key: [String]) {
    self.list = list
    positions = Dictionary(
      list.records.enumerated().map { position, record in
        (RecordKey(key.map { record[$0] }), position)
      }
    ) { first, _ in first }
  }

  /// The text of a field of a record, if this list has the same value there.
  func bytes(of record: Record, _ id: RecordKey, field name: String) -> ArraySlice<UInt8>? {
    guard let position = positions[id], list.records[position][name] == record[name] else {
      return nil
    }
    return list.bytes(ofField: name, at: position)
  }
}
