internal import TandemRecords

/// A field of a list that has the address of some content, which a mirror puts into files.
///
/// The rows of the mirror have a further column, ``fileField``, with the path of the file in the mirror's
/// directory, as in `content/17.jpg`; null for an item that has no such content.
public struct MirroredContent: Hashable, Sendable {
  /// The stage in which it is transferred; also the name of the folder with its files.
  public var stage: MirrorStage {
    didSet { folder = FileName(stage.name) }
  }
  /// The folder with its files.
  private(set) var folder: FileName
  /// The field with the address, absolute or relative to that of the item's page.
  public var field: String
  /// A field with the SHA-256 that the content must have, in hexadecimal digits; null for any. A record that
  /// has an address, but no such field, is an error.
  public var digestField: String?
  /// A field with the number of bytes that the content must have; null for any number. A record that has an
  /// address, but no such field, is an error.
  public var byteCountField: String?
  /// True if an item is in the mirror only once this content is. Otherwise, its column keeps its value, null
  /// at first, until the transfer succeeds.
  public var isRequired: Bool
  /// The maximum length of a content; 16 GiB by default.
  public var maxByteCount: Int
  /// The maximum length of a content if it comes compressed, in decoded bytes; 1 GiB by default.
  public var maxDecompressedByteCount = FileRequest.defaultMaxDecompressedByteCount
  /// The consequence of a transfer that failed for the run; by default, the run ends.
  public var errorPolicy: MirrorErrorPolicy
  /// The maximum time for one transfer; `nil` for no limit.
  public var timeout: Duration?

  /// The content of a field.
  public init(
    _ stage: MirrorStage = .content, field: String, digestField: String? = nil,
    byteCountField: String? = nil, isRequired: Bool = true,
    maxByteCount: Int = FileRequest.defaultMaxByteCount, errorPolicy: MirrorErrorPolicy = .stop,
    timeout: Duration? = nil
  ) {
    self.stage = stage
    folder = FileName(stage.name)
    self.field = field
    self.digestField = digestField
    self.byteCountField = byteCountField
    self.isRequired = isRequired
    self.maxByteCount = maxByteCount
    self.errorPolicy = errorPolicy
    self.timeout = timeout
  }

  /// The column with the file's path.
  public var fileField: String { "\(field)_file" }

  /// True if a record has an address of such content; an empty one is none.
  func isNamed(by record: Record) -> Bool {
    !record[field].isNull && record[field].textValue != ""
  }

  /// The path that a row has for a file.
  func path(_ name: FileName) -> String { "\(folder)/\(name)" }

  /// The name of the file that a row points to; `nil` if it points to none of this content.
  func name(_ path: String?) -> FileName? {
    guard let path, path.utf8.starts(with: folder.text.utf8) else { return nil }
    let rest = path.utf8.dropFirst(folder.text.utf8.count)
    guard rest.first == UInt8(ascii: "/") else { return nil }
    return FileName(stored: String(Substring(rest.dropFirst())))
  }
}

/// A record of a list whose contents are to be fetched.
struct MirroredItem: Identifiable, Sendable {
  /// The values of its key fields, as the table stores them.
  let id: RecordKey
  /// Its position in the list.
  let position: Int
  /// The record, as the list has it.
  let record: Record
  /// The address that those in its record are relative to; `nil` if they cannot be.
  let base: String?
}

extension FileName {
  /// The name of the file for an item's content from an address: the item's key, and the extension of the
  /// address. Different keys have different names.
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

  /// The text after the last point of the last part of an address's path.
  private static func pathExtension(of url: String) -> String? {
    let path = url.prefix { $0 != "?" && $0 != "#" }
    guard let name = path.split(separator: "/", omittingEmptySubsequences: false).last,
      let point = name.lastIndex(of: "."), path.count(where: { $0 == "/" }) > 2
    else { return nil }
    return String(name[name.index(after: point)...])
  }
}
