internal import TandemHTTP
internal import TandemRecords

/// A member of an object around or beside a list, or a field of the response.
struct PageMember {
  /// The place of a member, by which it is a better or a worse sign.
  enum Place {
    /// Beside the list, or beside an object around the list.
    case beside
    /// In an object beside it that describes the page, such as `pageInfo`.
    case container
    /// In an object of links' targets or cursors by their direction, such as Facebook's `cursors`. It may name the
    /// page's own ends.
    case cursors
    /// In any other object beside it.
    case data
    /// In the head of the response.
    case head
  }

  /// The path to its object, with a point at the end, or nothing.
  var prefix = ""
  /// Its own name.
  var ownName: String
  /// The letters of its own name.
  var letters: [UInt8]
  var value: JSONValue
  var place: Place
  /// The object that it is in.
  var siblings: [String: JSONValue]
}

extension PageMember {
  /// The maximum number of objects beside a list that are inside each other and looked into.
  private static let maxDepth = 3

  /// The members around and beside a list, those nearer to the top first.
  ///
  /// - Parameters:
  ///   - others: The object around the list, without the list.
  ///   - list: The path to the list in it.
  static func all(beside list: String, in others: JSONValue) -> [PageMember] {
    guard case .object(let object) = others else { return [] }
    var members: [PageMember] = []
    append(object, at: "", .beside, toList: list[...], depth: 0, &members)
    return members
  }

  /// The fields of a response. A field that holds a JSON object, as `X-Pagination` does, is an object beside the list.
  static func all(in head: HTTPResponseHead) -> [PageMember] {
    var members: [PageMember] = []
    for field in head.fields {
      var letters = PageWords.letters(of: field.name)[...]
      for prefix in ["x", "ms", "amzn", "amz", "wp", "pagination", "paging"]
      where letters.starts(with: prefix.utf8) && letters.count > prefix.utf8.count {
        letters = letters.dropFirst(prefix.utf8.count)
      }
      let value = value(ofField: field.value)
      members.append(
        PageMember(
          ownName: field.name, letters: Array(letters), value: value, place: .head, siblings: [:]))
      if case .object(let object) = value, PageWords.container.spell(Array(letters)) {
        append(object, at: "\(field.name).", .head, toList: nil, depth: maxDepth, &members)
      }
    }
    return members
  }

  private static func value(ofField text: String) -> JSONValue {
    if text.hasPrefix("{"), let object = try? JSONValue(parsing: text.utf8) { return object }
    if httpNumber(text) != nil { return .number(text) }
    return .string(text)
  }

  /// - Parameter list: The rest of the path to the list; `nil` if the list is not inside the object.
  private static func append(
    _ object: [String: JSONValue], at prefix: String, _ place: Place, toList list: Substring?,
    depth: Int, _ members: inout [PageMember]
  ) {
    var inner: [(name: String, fields: [String: JSONValue], place: Place, list: Substring?)] = []
    for (name, value) in object.sorted(by: { $0.key < $1.key }) {
      let letters = PageWords.letters(of: name)
      members.append(
        PageMember(
          prefix: prefix, ownName: name, letters: letters, value: value, place: place,
          siblings: object))
      guard case .object(let fields) = value else { continue }
      if let list, list.hasPrefix("\(name).") {
        inner.append((name, fields, .beside, list.dropFirst(name.count + 1)))
      } else if depth < maxDepth {
        let innerPlace = Self.place(of: letters, name, in: place)
        // Such an object describes its own list.
        if innerPlace == .data, fields.values.contains(where: \.isList) { continue }
        inner.append((name, fields, innerPlace, nil))
      }
    }
    for (name, fields, place, list) in inner {
      append(
        fields, at: "\(prefix)\(name).", place, toList: list,
        depth: list == nil ? depth + 1 : 0, &members)
    }
  }

  /// The place of the members of an object beside the list.
  private static func place(of letters: [UInt8], _ name: String, in outer: Place) -> Place {
    if outer == .data { return .data }
    if letters.elementsEqual("cursors".utf8) { return .cursors }
    // The elements of an array around the list are all beside it.
    if outer == .beside, httpNumber(name) != nil { return .beside }
    // `search_metadata` of Twitter has the number that was asked for.
    let isContainer =
      PageWords.container.spell(letters) || letters.elementsEqual("search".utf8)
    return isContainer ? .container : .data
  }
}

extension JSONValue {
  /// True for an array of objects, other than one of links.
  fileprivate var isList: Bool {
    guard case .array(let elements) = self, case .object? = elements.first else { return false }
    return elements.first?.linkMember == nil
  }
}
