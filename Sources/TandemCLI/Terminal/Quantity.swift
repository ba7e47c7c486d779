/// Formats quantities for people.
enum Quantity {
  /// A number of bytes in a decimal unit: `1.5 MB`.
  static func bytes(_ count: Double) -> String {
    var value = max(0, count)
    var unit = "B"
    for next in ["kB", "MB", "GB", "TB"] where value >= 1_000 {
      value /= 1_000
      unit = next
    }
    let tenths = (value * 10).rounded(.down) / 10
    return unit == "B" || tenths >= 100 ? "\(Int(value)) \(unit)" : "\(tenths) \(unit)"
  }

  /// A number with a noun: `1 conflict`, `2 conflicts`.
  static func count(_ count: Int, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
  }

  /// A time in milliseconds since 1970, by RFC 3339, in UTC.
  static func time(_ milliseconds: Int) -> String {
    var seconds = time_t(milliseconds / 1_000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    func digits(_ number: Int32, _ count: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    let date =
      "\(digits(parts.tm_year + 1900, 4))-\(digits(parts.tm_mon + 1, 2))-\(digits(parts.tm_mday, 2))"
    return "\(date)T\(digits(parts.tm_hour, 2)):\(digits(parts.tm_min, 2)):"
      + "\(digits(parts.tm_sec, 2)).\(digits(Int32(milliseconds % 1_000), 3))Z"
  }

  /// A duration in its two largest units: `1 h 2 min`, `40 s`.
  static func duration(_ duration: Duration) -> String {
    let seconds = max(0, duration.components.seconds)
    switch seconds {
    case ..<60: return "\(seconds) s"
    case ..<3_600: return "\(seconds / 60) min \(seconds % 60) s"
    default: return "\(seconds / 3_600) h \(seconds / 60 % 60) min"
    }
  }
}
