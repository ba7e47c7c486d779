import TandemRecords

extension ChannelMessage {
  /// About how many bytes it costs to let the message wait.
  var waitingByteCount: Int { subject.utf8.count + id.byteCount + byteCount(of: values.keys) }

  /// About how many bytes it costs to let some of the values wait.
  func byteCount(of names: some Sequence<String>) -> Int {
    names.reduce(0) { count, name in
      count + (values[name].map { name.utf8.count + $0.byteCount } ?? 0)
    }
  }
}

extension JSONValue {
  /// What a value takes beside its text: the enumeration, and as much again for a table's place.
  private static let placeByteCount = 32

  fileprivate var byteCount: Int {
    switch self {
    case .null, .bool: return Self.placeByteCount
    case .number(let text), .string(let text): return Self.placeByteCount + text.utf8.count
    case .array(let elements): return elements.reduce(Self.placeByteCount) { $0 + $1.byteCount }
    case .object(let fields):
      return fields.reduce(Self.placeByteCount) { $0 + $1.key.utf8.count + $1.value.byteCount }
    }
  }
}
