public import TandemDigests
public import TandemHTTP

/// The facts about a complete file, for a conditional request to its server.
struct StoredFile: Hashable, Sendable {
  /// Its name.
  var name: FileName
  /// The address of its content, without credentials.
  var url: String
  /// The validators that the server sent.
  var validators: HTTPValidators
  /// Its length.
  var byteCount: Int
  /// Its digest, if it was checked.
  var sha256: SHA256Digest?
}

/// A content to fetch into a file.
public struct FileRequest: Hashable, Sendable {
  /// The file.
  public var name: FileName
  /// The address of its content.
  public var url: String
  /// The fields to send, such as credentials.
  public var fields: HTTPFields
  /// The digest that the content must have.
  public var sha256: SHA256Digest?
  /// The length that the content must have.
  public var byteCount: Int?
  /// The maximum length of a content.
  public var maxByteCount: Int
  /// The maximum length of a content if it comes compressed, in decoded bytes, although it is asked for as it
  /// is: few compressed bytes may stand for very many.
  public var maxDecompressedByteCount = defaultMaxDecompressedByteCount
  /// True to ask a server that sent the file before for its content only if that changed.
  public var isConditional = true

  /// The default for the longest content to accept: 16 GiB.
  public static let defaultMaxByteCount = 16 << 30

  /// The default for the longest compressed content to accept, in decoded bytes: 1 GiB.
  public static let defaultMaxDecompressedByteCount = 1 << 30

  /// A request for the content at `url`.
  public init(
    _ name: FileName, url: String, fields: HTTPFields = [:],
    sha256: SHA256Digest? = nil, byteCount: Int? = nil, maxByteCount: Int = defaultMaxByteCount
  ) {
    self.name = name
    self.url = url
    self.fields = fields
    self.sha256 = sha256
    self.byteCount = byteCount
    self.maxByteCount = maxByteCount
  }
}

/// The result of a ``FileRequest``.
public struct FileTransfer: Hashable, Sendable {
  /// The file, which is complete.
  var file: StoredFile
  /// The number of bytes that were received; 0 if the file was there and the server has nothing newer.
  public var receivedByteCount: Int
  /// True if the file was written; false if it was there, and still is what its server has.
  public var isChanged: Bool
}
