/// The format of a text that contains a list of records.
public enum RecordFormat: String, CaseIterable, Hashable, Sendable {
  /// One JSON array of objects (RFC 8259).
  case json
  /// One JSON object per line.
  case ndjson
  /// Comma-separated values under a line of field names (RFC 4180).
  case csv
  /// The same with tabs in place of commas.
  case tsv

  /// True for ``csv`` and ``tsv``, whose values have no types.
  public var isCSV: Bool { self == .csv || self == .tsv }

  /// Creates the format of a file name by its extension, in upper or lower case: `json`, `ndjson`
  /// or `jsonl`, `csv`, `tsv` or `tab`. Returns `nil` for other names.
  public init?(fileName: String) {
    guard let stop = fileName.utf8.lastIndex(of: ASCII.point) else { return nil }
    switch fileName[fileName.utf8.index(after: stop)...].lowercased() {
    case "json": self = .json
    case "ndjson", "jsonl": self = .ndjson
    case "csv": self = .csv
    case "tsv", "tab": self = .tsv
    default: return nil
    }
  }

  /// Creates the format of an HTTP `Content-Type`, ignoring its parameters. Returns `nil` for a
  /// media type without a format, such as `text/plain`.
  package init?(contentType: String) {
    let type = contentType.prefix { $0 != ";" }.filter { !$0.isWhitespace }.lowercased()
    switch type {
    case "application/json", "text/json": self = .json
    case "application/x-ndjson", "application/ndjson", "application/jsonl",
      "application/x-jsonl", "application/jsonlines", "application/x-jsonlines":
      self = .ndjson
    case "text/csv", "application/csv": self = .csv
    case "text/tab-separated-values": self = .tsv
    case _ where type.hasPrefix("application/") && type.hasSuffix("+json"): self = .json
    default: return nil
    }
  }

  /// The value of the parameter `charset` of an HTTP `Content-Type`, in lower case; `nil` if it has none.
  package static func charset(ofContentType contentType: String) -> String? {
    for parameter in contentType.split(separator: ";").dropFirst() {
      let parts = parameter.split(separator: "=", maxSplits: 1)
        .map { $0.filter { !$0.isWhitespace && $0 != "\"" }.lowercased() }
      if parts.count == 2, parts[0] == "charset" { return parts[1] }
    }
    return nil
  }

  /// Guesses the format of a text by its first byte that is not white space: an array is JSON, an
  /// object NDJSON, anything else CSV.
  ///
  /// - Complexity: O(*n*) in the white space at the start.
  package static func sniffed(from bytes: some Collection<UInt8>) -> RecordFormat {
    let text = bytes.dropFirst(bytes.starts(with: ASCII.byteOrderMark) ? 3 : 0)
    switch text.first(where: { !ASCII.isSpace($0) }) {
    case ASCII.openBracket: return .json
    case ASCII.openBrace: return .ndjson
    default: return .csv
    }
  }
}
