import TandemDifferences

/// Writes a merged list in the format and layout of the local version.
struct MergedTextWriter {
  let local: TextSide
  let remote: TextSide
  let comments: CommentMerge
  /// True to write the base of each conflict too, as git does with `diff3`.
  let showsBase: Bool

  /// The lists whose text can be copied.
  private var sides: [TextSide] {
    let (ours, theirs) = (local.list, remote.list)
    let isLike =
      ours.format.isCSV
      ? theirs.hasDialect(of: ours) : ours.format == .json || theirs.format == ours.format
    return isLike ? [local, remote] : [local]
  }

  // MARK: - Conflicts

  /// Writes each part on lines of its own, a conflict with the versions that the records are of.
  func lines(
    of parts: [MergedPart], lineEnd: [UInt8], _ line: (ListRecord, MergeError.Side?) -> [UInt8]
  ) -> [UInt8] {
    var text: [UInt8] = []
    for part in parts {
      switch part {
      case .record(let record): text += line(record, nil) + lineEnd
      case .conflict(let base, let ours, let theirs):
        func version(_ record: ListRecord?, _ side: MergeError.Side) -> [UInt8] {
          record.map { line($0, side) + lineEnd } ?? []
        }
        text += marked(
          base: version(base, .base), local: version(ours, .local),
          remote: version(theirs, .remote), lineEnd: lineEnd)
      }
    }
    return text
  }

  /// Both versions of some lines, and their base if it is shown, between git's markers.
  private func marked(
    base: [UInt8], local: [UInt8], remote: [UInt8], lineEnd: [UInt8]
  ) -> [UInt8] {
    let former = showsBase ? Array("||||||| base".utf8) + lineEnd + base : []
    return Array("<<<<<<< local".utf8) + lineEnd + local + former + Array("=======".utf8) + lineEnd
      + remote + Array(">>>>>>> remote".utf8) + lineEnd
  }

  // MARK: - JSON

  /// Writes objects in an array, with the text around and between the objects of the local list.
  func array(of parts: [MergedPart]) -> [UInt8] {
    let layout = ArrayLayout(local.list)
    guard !parts.isEmpty else { return layout.isEmpty ? Array("[]\n".utf8) : layout.emptyText }
    guard parts.contains(where: \.isConflict) else {
      let objects = parts.compactMap { part in
        if case .record(let record) = part { object(of: record) } else { nil }
      }
      return layout.start + objects.joined(separator: layout.separator) + layout.end
    }
    return arrayWithConflicts(parts, layout)
  }

  /// A comma belongs to the record before it if a record that is certain follows, and otherwise to the
  /// record after it. So each resolution of the conflicts is an array.
  private func arrayWithConflicts(_ parts: [MergedPart], _ layout: ArrayLayout) -> [UInt8] {
    guard let lastCertain = parts.lastIndex(where: \.isCertain) else {
      return wholeConflict(parts, layout)
    }
    var text = layout.start
    for (position, part) in parts.enumerated() {
      let (lead, trail): ([UInt8], [UInt8]) =
        position < lastCertain
        ? ([], [ASCII.comma]) : position > lastCertain ? ([ASCII.comma], []) : ([], [])
      switch part {
      case .record(let record):
        if position > 0 { text += layout.isAtLineStart(text) ? layout.indent : layout.space }
        text += lead + object(of: record) + trail
      case .conflict(let base, let ours, let theirs):
        func side(_ record: ListRecord?) -> [UInt8] {
          record.map { layout.indent + lead + object(of: $0) + trail + layout.lineEnd } ?? []
        }
        layout.endLine(&text)
        text += marked(
          base: side(base), local: side(ours), remote: side(theirs), lineEnd: layout.lineEnd)
      }
    }
    return text + (layout.isAtLineStart(text) ? layout.endAfterLine : layout.end)
  }

  /// Writes all records of each version as one conflict.
  private func wholeConflict(_ parts: [MergedPart], _ layout: ArrayLayout) -> [UInt8] {
    func side(_ records: [ListRecord]) -> [UInt8] {
      guard !records.isEmpty else { return [] }
      return layout.indent + records.map(object).joined(separator: layout.separator)
        + layout.lineEnd
    }
    var text = layout.start
    layout.endLine(&text)
    let versions = parts.map(\.versions)
    text += marked(
      base: side(versions.compactMap { $0.base }), local: side(versions.compactMap { $0.local }),
      remote: side(versions.compactMap { $0.remote }), lineEnd: layout.lineEnd)
    return text + layout.endAfterLine
  }

  func object(of record: ListRecord) -> [UInt8] {
    for side in sides {
      if let position = side.position(ofEqual: record) {
        return Array(side.list.bytes[side.list.objects[position]])
      }
    }
    guard let side = sides.first(where: { $0.position(of: record) != nil }),
      let position = side.position(of: record)
    else { return json(record) }
    return side.list.object(at: position, changedTo: record) { name in
      sides.lazy.compactMap { $0.bytes(of: record, field: name) }.first
        ?? json(record[name] ?? .null)[...]
    }
  }

  private func json(_ value: some JSONWritable) -> [UInt8] {
    var text: [UInt8] = []
    text.appendJSON { $0.write(value) }
    return text
  }

  // MARK: - CSV

  /// Writes rows, with the comments before each. A row that a version has unchanged is copied.
  func csv(of parts: [MergedPart]) -> [UInt8] {
    let list = local.list
    let lineEnd = list.lineEnd
    var text = header + lineEnd + lines(of: parts, lineEnd: lineEnd, row)
    let tail = list.bytes[(list.lines.last?.upperBound ?? 0)...]
    let end = comments.text(above: .end)
    if end.isEmpty, tail.isEmpty, !list.bytes.isEmpty, text.suffix(lineEnd.count) == lineEnd[...] {
      text.removeLast(lineEnd.count)
    }
    return text + end
  }

  private var header: [UInt8] {
    let list = local.list
    let names = list.columns.map { name in
      sides.lazy.compactMap { $0.list.headerBytes(of: name) }.first
        ?? CSVText.quotedIfNeeded(Array(name.utf8), special: list.specialCharacters)[...]
    }
    return comments.text(above: .header) + names.joined(separator: [list.delimiter])
  }

  /// Writes a row with the comments above it: the merged ones, or those of one version.
  private func row(of record: ListRecord, in version: MergeError.Side?) -> [UInt8] {
    let list = local.list
    let comments = comments.text(above: .row(record), in: version)
    for side in sides where side.list.hasOriginalCells {
      guard let position = side.position(ofEqual: record) else { continue }
      let row = side.list.lines[position + 1]
      return comments + side.list.bytes[side.list.start(ofRow: position + 1)..<row.upperBound]
    }
    let cells = zip(record.layout.names, record.values).map { name, value in
      sides.lazy.compactMap { $0.bytes(of: record, field: name) }.first
        ?? CSVText.cell(of: value, special: list.specialCharacters)[...]
    }
    return comments + cells.joined(separator: [list.delimiter])
  }
}

/// A list with the position of each key in its text.
struct TextSide {
  let list: ListText
  let key: [String]
  let positions: [RecordKey: Int]

  init(_ list: ListText, key: [String]) {
    self.list = list
    self.key = key
    let keys = list.records.map { list.key(of: $0, key) }.filter { !list.addedKeys.contains($0) }
    positions = Dictionary(keys.enumerated().map { ($1, $0) }) { first, _ in first }
  }

  /// The position of a record with the same key.
  func position(of record: ListRecord) -> Int? { positions[list.key(of: record, key)] }

  /// The position of the same record.
  func position(ofEqual record: ListRecord) -> Int? {
    position(of: record).flatMap { list.records[$0] == record ? $0 : nil }
  }

  /// The text of a field of a record, if this list has the same value there.
  func bytes(of record: ListRecord, field name: String) -> ArraySlice<UInt8>? {
    guard let position = position(of: record), list.records[position][name] == record[name] else {
      return nil
    }
    return list.bytes(ofField: name, at: position)
  }
}

extension ListText {
  /// Writes an object of this list with other values, without the fields that `record` does not have,
  /// and with its further fields at the end.
  fileprivate func object(
    at position: Int, changedTo record: ListRecord, text: (String) -> ArraySlice<UInt8>
  ) -> [UInt8] {
    let fields = fields(at: position)
    let range = objects[position]
    guard let first = fields.first, let last = fields.last else {
      var object: [UInt8] = []
      object.appendJSON { $0.write(record) }
      return object
    }
    var result = Array(bytes[range.lowerBound..<first.name.lowerBound])
    var isFirst = true
    for field in fields where record.layout.offset(of: field.text) != nil {
      if !isFirst { result += field.separator(in: bytes) }
      isFirst = false
      result += bytes[field.name.lowerBound..<field.value.lowerBound]
      result += text(field.text)
    }
    let known = records[position].layout
    for name in record.layout.names where known.offset(of: name) == nil {
      if !isFirst { result += fields.count > 1 ? last.separator(in: bytes) : [ASCII.comma] }
      isFirst = false
      result.append(quoted: name)
      result += bytes[first.name.upperBound..<first.value.lowerBound]
      result += text(name)
    }
    return result + bytes[last.value.upperBound..<range.upperBound]
  }

  private struct FieldPlace {
    var text: String
    /// The end of the value before the name.
    var start: Int
    /// The name with its quotes.
    var name: Range<Int>
    var value: Range<Int>

    /// The text between the value before the field and its name.
    func separator(in bytes: [UInt8]) -> ArraySlice<UInt8> { bytes[start..<name.lowerBound] }
  }

  private func fields(at position: Int) -> [FieldPlace] {
    let values = values(at: position)
    var start = objects[position].lowerBound
    return zip(records[position].layout.names, values).map { text, value in
      // Between the last value and this one: a brace or a comma, the name, a colon, and white space.
      let opener = bytes[start...].firstIndex(of: ASCII.quote) ?? value.lowerBound
      var closer = value.lowerBound - 1
      while closer > opener, bytes[closer] != ASCII.quote { closer -= 1 }
      defer { start = value.upperBound }
      return FieldPlace(text: text, start: start, name: opener..<closer + 1, value: value)
    }
  }

  /// The offset of the first field in a row of CSV.
  fileprivate func start(ofRow number: Int) -> Int { cell(at: 0, inRow: number).lowerBound }

  /// The comments and empty lines before a row of CSV.
  func comments(beforeRow number: Int) -> ArraySlice<UInt8> {
    bytes[lines[number].lowerBound..<start(ofRow: number)]
  }

  fileprivate var delimiter: UInt8 { csv.delimiter(of: format) }

  /// The characters for which a cell needs quotes.
  fileprivate var specialCharacters: [UInt8] { [delimiter] + (csv.comment.map { [$0] } ?? []) }

  fileprivate func hasDialect(of other: ListText) -> Bool {
    format.isCSV && other.format.isCSV && delimiter == other.delimiter
      && csv.comment == other.csv.comment
  }

  /// The text of a column's name, if it is the one in the header.
  fileprivate func headerBytes(of name: String) -> ArraySlice<UInt8>? {
    guard let offset = columns.firstIndex(where: { UTF8Order.areEqual($0, name) }),
      let source = cellOffsets[offset]
    else { return nil }
    let cell = bytes[cell(at: source, inRow: 0)]
    let plain = cell.first == ASCII.quote ? cell.dropFirst().dropLast() : cell
    let text =
      plain.isEmpty
      ? CSVText.name(ofColumn: source)
      : String(decoding: plain, as: UTF8.self).replacing("\"\"", with: "\"")
    return UTF8Order.areEqual(text, name) ? cell : nil
  }
}
