import Tandem

extension ParsedArguments {
  /// The fields of a key, from `--key`.
  func key(_ command: CommandSpecification) throws(UsageError) -> [String]? {
    guard let text = self["key"] else { return nil }
    let names = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    guard !names.contains(""), RecordLayout(names) != nil else {
      throw UsageError("--key names fields with commas between them, each once", command: command)
    }
    return names
  }

  /// The format of lists, from `--format`.
  func format(_ command: CommandSpecification) throws(UsageError) -> RecordFormat? {
    guard let name = self["format"] else { return nil }
    guard let format = RecordFormat(rawValue: name) else {
      let names = RecordFormat.allCases.map(\.rawValue)
      let hint = Spelling.closest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
      throw UsageError(
        "--format takes \(names.joined(separator: ", ")), not '\(name)'\(hint)", command: command)
    }
    return format
  }

  /// A whole number in a range, from an option.
  func count(
    _ name: String, in range: ClosedRange<Int>, _ command: CommandSpecification
  ) throws(UsageError) -> Int? {
    guard let text = self[name] else { return nil }
    guard let count = Int(text), range.contains(count) else {
      throw UsageError(
        "--\(name) takes a number from \(range.lowerBound) to \(range.upperBound), not '\(text)'",
        command: command)
    }
    return count
  }

  /// A number of bytes, from an option.
  func byteCount(_ name: String, _ command: CommandSpecification) throws(UsageError) -> Int? {
    guard let text = self[name] else { return nil }
    guard let count = Self.byteCount(text), count > 0 else {
      throw UsageError(
        "--\(name) takes bytes, such as 500k, 64M or 2G, not '\(text)'", command: command)
    }
    return count
  }

  /// Reads `64M` as 64 MiB.
  private static func byteCount(_ text: String) -> Int? {
    let shifts: [Character: Int] = ["k": 10, "K": 10, "M": 20, "G": 30]
    let shift = text.last.flatMap { shifts[$0] } ?? 0
    guard let count = Int(shift > 0 ? text.dropLast() : text[...]) else { return nil }
    let (product, isOverflow) = count.multipliedReportingOverflow(by: 1 << shift)
    return isOverflow ? nil : product
  }

  /// A duration in seconds, fractions allowed, from an option.
  func seconds(
    _ name: String, _ command: CommandSpecification
  ) throws(UsageError) -> Duration? {
    guard let text = self[name] else { return nil }
    guard let seconds = Double(text), (0.001...Self.maxSeconds).contains(seconds) else {
      throw UsageError(
        "--\(name) takes seconds, such as 30 or 0.5, not '\(text)'", command: command)
    }
    return .seconds(seconds)
  }

  /// The longest duration that an option takes: some eleven days.
  private static let maxSeconds = 1_000_000.0

  /// Fields of requests, from `--header`.
  func headers(_ command: CommandSpecification) throws(UsageError) -> HTTPFields {
    var fields: HTTPFields = [:]
    for text in values(of: "header") {
      guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon > text.startIndex else {
        throw UsageError("--header takes 'Name: value', not '\(text)'", command: command)
      }
      let value = text[text.utf8.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
      fields.append(String(text[..<colon]), String(value))
    }
    return fields
  }

  /// How a list is paged, from `--page`.
  func paging(_ command: CommandSpecification) throws(UsageError) -> RecordPaging {
    guard let text = self["page"] else { return .none }
    guard let paging = RecordPaging(text) else {
      throw UsageError(
        "--page takes link, cursor=FIELD[,PARAM], offset=PARAM or number=PARAM, not '\(text)'",
        command: command)
    }
    if case .cursor = paging, self["items"] == nil {
      throw UsageError(
        "--page cursor needs --items: the field beside the cursor that holds the list",
        command: command)
    }
    return paging
  }
}
