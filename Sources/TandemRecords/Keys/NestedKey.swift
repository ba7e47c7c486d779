/// A field of a key that is in an object inside the record: `properties.code` in GeoJSON.
private enum NestedKey {
  /// The names among those of a key that are paths into records of these layouts, each once; none if a record
  /// would have more fields than ``RecordLayout/maxFieldCount`` with them, so that it has no such key.
  static func paths(_ key: [String], in layouts: [RecordLayout]) -> [String] {
    var seen = Set<FieldName>()
    let paths = key.filter { name in
      name.utf8.contains(ASCII.point) && layouts.allSatisfy { $0.offset(of: name) == nil }
        && seen.insert(FieldName(name)).inserted
    }
    let maxCount = RecordLayout.maxFieldCount - paths.count
    return layouts.allSatisfy { $0.names.count <= maxCount } ? paths : []
  }

  /// The value at a path; `nil` if there is none.
  ///
  /// - Parameter text: The JSON of the array or object in a field; `nil` if it has none.
  static func value(at path: String, _ text: (_ field: String) -> String?) -> JSONValue? {
    for point in path.indices where path[point] == "." {
      guard let text = text(String(path[..<point])), JSONStructure.isNested(text),
        let object = try? JSONValue(
          parsing: text.utf8, maxNestingDepth: RecordLimits().maxNestingDepth),
        let value = value(at: path[path.index(after: point)...], in: object)
      else { continue }
      return value
    }
    return nil
  }

  private static func value(at path: Substring, in json: JSONValue) -> JSONValue? {
    guard case .object(let fields) = json else { return nil }
    if let value = fields[String(path)] { return value }
    for point in path.indices where path[point] == "." {
      if let inner = fields[String(path[..<point])],
        let value = value(at: path[path.index(after: point)...], in: inner)
      {
        return value
      }
    }
    return nil
  }
}

extension ListValue {
  /// The value of JSON; null for an array or object, which is no part of a key.
  fileprivate init(_ json: JSONValue?) {
    switch json {
    case .string(let text)?: self = .text(text)
    case .number(let digits)?: self = .json(digits)
    case .bool(let isTrue)?: self = .json(isTrue ? "true" : "false")
    case nil, .null?, .array?, .object?: self = .null
    }
  }
}

extension PackedRecords {
  /// The records with a further field for each name of a key that is a path to a value in an object of theirs.
  ///
  /// - Complexity: O(1) if no name is one, else O(*n*) in the bytes of the records.
  package func lifting(_ key: [String]) -> PackedRecords {
    let paths = NestedKey.paths(key, in: layouts)
    guard !paths.isEmpty else { return self }
    let wider = layouts.map {
      RecordLayout(uniqueNames: $0.names + paths, nestedOffsets: $0.nestedOffsets)
    }
    var result = PackedRecords()
    for position in indices {
      let (index, values) = row(at: position)
      let lifted = paths.map { path in
        ListValue(
          NestedKey.value(at: path) { field in
            layouts[index].offset(of: field).flatMap { values[$0].textValue }
          }
        ).stored
      }
      result.append(Record(uncheckedLayout: wider[index], values: values + lifted))
    }
    return result
  }
}

extension ListText {
  /// Gives the records a further field for each name of a key that is a path to a value in an object of theirs.
  /// The text stays as it is.
  package mutating func lift(_ key: [String]) {
    let paths = NestedKey.paths(key, in: records.map(\.layout))
    guard !format.isCSV, !paths.isEmpty else { return }
    setRecords(
      records.map { record in
        let lifted = paths.map { path in
          ListValue(
            NestedKey.value(at: path) { field in
              if case .json(let text)? = record[field] { text } else { nil }
            })
        }
        return ListRecord(
          layout: RecordLayout(uniqueNames: record.layout.names + paths),
          values: record.values + lifted)
      })
  }
}
