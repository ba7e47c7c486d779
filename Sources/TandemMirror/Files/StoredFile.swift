public import TandemDigests
public import TandemHTTP

/// What is known of a complete file: enough to ask its server whether there is a newer one.
public struct StoredFile: Hashable, Sendable {
  /// Its name.
  public var name: FileName
  /// Where its content came from, without credentials.
  public var url: String
  /// What the server sent to ask again by.
  public var validators: HTTPValidators
  /// How long it is.
  public var byteCount: Int
  /// Its digest, if it was checked.
  public var sha256: SHA256Digest?

  /// A file as described.
  public init(
    name: FileName, url: String, validators: HTTPValidators, byteCount: Int,
    sha256: SHA256Digest? = nil
  ) {
    self.name = name
    self.url = url
    self.validators = validators
    self.byteCount = byteCount
    self.sha256 = sha256
  }
}

/// What to put into a file.
public struct FileRequest: Hashable, Sendable {
  /// The file.
  public var name: FileName
  /// Where its content is.
  public var url: String
  /// What to send along, such as credentials.
  public var fields: HTTPFields
  /// The digest that the content must have.
  public var sha256: SHA256Digest?
  /// The length that the content must have.
  public var byteCount: Int?
  /// The longest content to accept.
  public var maxByteCount: Int

  /// The longest content to accept unless told otherwise: 16 GiB.
  public static let defaultMaxByteCount = 16 << 30

  /// A request for whatever is at `url`.
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

/// What became of a ``FileRequest``.
public struct FileTransfer: Hashable, Sendable {
  /// The file, which is complete.
  public var file: StoredFile
  /// How many bytes were received for it; 0 if it was there and the server has nothing newer.
  public var receivedByteCount: Int
  /// Whether the file was replaced: not if it was there, and still is what its server has.
  public var isChanged: Bool
}
