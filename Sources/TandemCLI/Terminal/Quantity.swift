import Tandem

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
    let rest = milliseconds % 1_000
    let seconds = milliseconds / 1_000 - (rest < 0 ? 1 : 0)
    let decimals = String(1_000 + (rest < 0 ? rest + 1_000 : rest)).dropFirst()
    return "\(TimeText.text(seconds: seconds).dropLast()).\(decimals)Z"
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
