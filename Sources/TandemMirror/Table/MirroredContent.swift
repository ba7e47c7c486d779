internal import TandemRecords

/// A field of a list that has the address of some content, which a mirror puts into files.
///
/// The rows of the mirror have a column more: ``fileField``, with the path of the file in the
/// mirror's directory, as in `content/17.jpg`; null for an item that has no such content.
public struct MirroredContent: Hashable, Sendable {
  /// The stage in which it is transferred; also the name of the folder its files are in.
  public var stage: MirrorStage
  /// The field with the address, absolute or relative to that of the item's page.
  public var field: String
  /// A field with the SHA-256 that the content must have, in hexadecimal digits; null for any. A record
  /// that has an address, but no such field, is an error.
  public var digestField: String?
  /// A field with how many bytes the content must have; null for any number, and missing for none.
  public var byteCountField: String?
  /// Whether an item is in the mirror only once this content is. Without, its column has what it had,
  /// null at first, until the transfer succeeds.
  public var isRequired: Bool
  /// The longest content to accept; 16 GiB unless told otherwise.
  public var maxByteCount: Int

  /// A field's content.
  public init(
    _ stage: MirrorStage = .content, field: String, digestField: String? = nil,
    byteCountField: String? = nil, isRequired: Bool = true,
    maxByteCount: Int = FileRequest.defaultMaxByteCount
  ) {
    self.stage = stage
    self.field = field
    self.digestField = digestField
    self.byteCountField = byteCountField
    self.isRequired = isRequired
    self.maxByteCount = maxByteCount
  }

  /// The column with the file's path.
  public var fileField: String { "\(field)_file" }

  /// Whether a record has an address of such content; an empty one is none.
  func isNamed(by record: Record) -> Bool {
    !record[field].isNull && record[field].textValue != ""
  }

  var folder: FileName { FileName(stage.name) }

  /// What a row has for a file.
  func path(_ name: FileName) -> String { "\(folder)/\(name)" }
}
