public import TandemRecords

/// A record of a list whose contents are mirrored.
public struct MirroredItem: Identifiable, Sendable {
  /// The values of its key fields, as the table stores them.
  public let id: RecordKey
  /// Its fields, with those of its files.
  public let record: Record
  /// The address that those in its record are relative to; `nil` if they cannot be.
  let base: String?
}

extension FileName {
  /// The name of the file for an item's content from an address: the item's key, and what the
  /// address ends in. Different keys have different names.
  init(_ key: RecordKey, url: String) {
    let suffix = Self.pathExtension(of: url)
    switch key.values.first {
    case .integer(let number)? where key.values.count == 1:
      self.init("\(number)", extension: suffix)
    // A text that reads as a number is not that number.
    case .text(let text)? where key.values.count == 1 && Double(text) == nil:
      let name = FileName(text, extension: suffix)
      // A text may be the description of another key.
      self = name.isPlain ? name : FileName(text, identity: "\(key)", extension: suffix)
    default:
      self.init("\(key)", identity: "\(key)", extension: suffix)
    }
  }

  /// What follows the last point of the last part of an address's path.
  private static func pathExtension(of url: String) -> String? {
    let path = url.prefix { $0 != "?" && $0 != "#" }
    guard let name = path.split(separator: "/", omittingEmptySubsequences: false).last,
      let point = name.lastIndex(of: "."), path.count(where: { $0 == "/" }) > 2
    else { return nil }
    return String(name[name.index(after: point)...])
  }
}
