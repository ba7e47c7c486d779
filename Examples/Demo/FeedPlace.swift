import SystemLibrary
import Tandem

/// A place of the feed.
struct FeedPlace: Codable, DatabaseRecord {
  static let tableName = "feed"
  static let keyColumnNames = ["zone"]

  var zone: String
  var name: String
  var latitude: Double
  var longitude: Double
}

extension Feed {
  private static let folder = "/usr/share/zoneinfo"

  /// The places of the time zone database, from lines such as `IT,SM,VA⇥+4154+01229⇥Europe/Rome`.
  static func original() throws -> [FeedPlace] {
    guard let file = fopen("\(folder)/zone1970.tab", "r") ?? fopen("\(folder)/zone.tab", "r") else {
      throw DemoError("\(folder)/zone1970.tab is missing: install the package tzdata")
    }
    defer { fclose(file) }
    var places: [FeedPlace] = []
    var line: UnsafeMutablePointer<CChar>?
    var capacity = 0
    defer { free(line) }
    while getline(&line, &capacity, file) >= 0, let line {
      if let place = FeedPlace(line: String(cString: line)) { places.append(place) }
    }
    return places
  }
}

extension FeedPlace {
  fileprivate init?(line: String) {
    let fields = line.split { "\t\n".contains($0) }
    guard !line.hasPrefix("#"), fields.count >= 3,
      let sign = fields[1].dropFirst().firstIndex(where: { "+-".contains($0) }),
      let latitude = FeedPlace.degrees(fields[1][..<sign], digitCount: 2),
      let longitude = FeedPlace.degrees(fields[1][sign...], digitCount: 3)
    else { return nil }
    let name = fields[2].split(separator: "/").last ?? fields[2]
    self.init(
      zone: String(fields[2]), name: String(name.map { $0 == "_" ? " " : $0 }), latitude: latitude,
      longitude: longitude)
  }

  /// `+4154` or `-1234556` as degrees, to hundredths (ISO 6709).
  private static func degrees(_ text: Substring, digitCount: Int) -> Double? {
    let digits = text.dropFirst()
    guard let whole = Double(digits.prefix(digitCount)),
      let minutes = Double(digits.dropFirst(digitCount).prefix(2))
    else { return nil }
    let value = ((whole + minutes / 60) * 100).rounded() / 100
    return text.hasPrefix("-") ? -value : value
  }
}
