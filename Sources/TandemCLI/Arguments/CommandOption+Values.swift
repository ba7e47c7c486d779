import Tandem

extension ValueOption<String> {
  /// An option with any text as its value.
  init(
    _ name: String, _ placeholder: String, letter: Character? = nil, isRepeatable: Bool = false,
    help: String, offer: ValueOffer? = nil
  ) {
    self.init(
      name, placeholder, letter: letter, isRepeatable: isRepeatable, takes: "a text", help: help,
      offer: offer
    ) { $0 }
  }
}

extension ValueOption<[String]> {
  /// `--key`: the fields of a key.
  static func key(_ placeholder: String = "FIELD[,FIELD]", help: String) -> Self {
    Self(
      "key", placeholder,
      takes:
        "names of fields with commas between them, each once; a name with a comma in quotes, as in "
        + "'\"Name, first\",Year'",
      help: help
    ) { text in
      guard let names = names(in: text) else { return nil }
      return names.contains("") || RecordLayout(names) == nil ? nil : names
    }
  }

  /// The names of a list, which are read as the header of CSV is.
  private static func names(in text: String) -> [String]? {
    guard text.contains("\"") else {
      return text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        .map { String(decoding: $0, as: UTF8.self) }
    }
    var options = CSVOptions(delimiter: UInt8(ascii: ","))
    options.hasHeader = false
    let records = try? ListText(Array(text.utf8), format: .csv, csv: options).records
    guard let records, records.count == 1 else { return nil }
    return records[0].values.map { if case .text(let name) = $0 { name } else { "" } }
  }
}

extension ValueOption where Value: RawRepresentable<String> & CaseIterable {
  /// An option that takes one of a few words.
  init(_ name: String, _ placeholder: String, help: String) {
    let words = Value.allCases.map(\.rawValue)
    self.init(
      name, placeholder, takes: words.joined(separator: ", "), help: help, offer: .words(words),
      hint: { text in
        Spelling.closest(to: text, among: words).map { "; did you mean \($0)?" } ?? ""
      },
      parse: { Value(rawValue: $0) })
  }
}

extension ValueOption<Int> {
  /// An option that takes a whole number.
  init(_ name: String, _ placeholder: String = "N", in range: ClosedRange<Int>, help: String) {
    let bounds =
      range.upperBound == .max
      ? "of at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
    self.init(name, placeholder, takes: "a number \(bounds)", help: help) { text in
      Int(text).flatMap { range.contains($0) ? $0 : nil }
    }
  }

  /// An option that takes a number of bytes, such as `64M` for 64 MiB.
  static func byteCount(_ name: String, atLeast min: Int = 1, help: String) -> Self {
    let bound = min > 1 ? "at least \(min) " : ""
    return Self(
      name, "N[k|M|G]", takes: "\(bound)bytes, such as 500k, 64M or 2G", help: help
    ) { text in
      let shifts: [Character: Int] = ["k": 10, "K": 10, "M": 20, "G": 30]
      let shift = text.last.flatMap { shifts[$0] } ?? 0
      guard let count = Int(shift > 0 ? text.dropLast() : text[...]) else { return nil }
      let (product, isOverflow) = count.multipliedReportingOverflow(by: 1 << shift)
      return isOverflow || product < min ? nil : product
    }
  }
}

extension ValueOption<Duration> {
  /// The maximum duration that an option accepts: about eleven days.
  private static let maxSeconds = 1_000_000.0

  /// An option that takes a duration in seconds, fractions allowed.
  static func seconds(_ name: String, help: String) -> Self {
    Self(name, "SECONDS", takes: "seconds, such as 30 or 0.5", help: help) { text in
      Double(text).flatMap { (0.001...Self.maxSeconds).contains($0) ? .seconds($0) : nil }
    }
  }
}
