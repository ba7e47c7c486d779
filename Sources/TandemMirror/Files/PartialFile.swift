internal import TandemHTTP

/// A download under way: a file in the hidden directory, with `.part` after the name it will get, and, if it
/// can be resumed, an entry in the index.
///
/// The entry is written before the first byte, and removed before the file gets bytes of something else: it is
/// always true of the bytes that are there.
struct PartialFile {
  private let address: FileIndex.Address
  private let directory: Directory
  private let index: FileIndex
  /// True if there may be a file from before.
  let mayExist: Bool

  init(
    _ address: FileIndex.Address, in directory: Directory, index: FileIndex, mayExist: Bool = true
  ) {
    self.address = address
    self.directory = directory
    self.index = index
    self.mayExist = mayExist
  }

  private static let suffix = ".part"
  /// A character that neither a folder nor a name has.
  private static let separator: Character = "+"

  private var partName: String {
    let prefix = address.folder.isEmpty ? "" : "\(address.folder)\(Self.separator)"
    return "\(prefix)\(address.name)\(Self.suffix)"
  }

  /// The file that a partial file belongs to; `nil` for the name of any other file.
  static func address(of name: String) -> FileIndex.Address? {
    guard name.hasSuffix(suffix) else { return nil }
    let parts = name.dropLast(suffix.count).split(
      separator: separator, omittingEmptySubsequences: false)
    guard parts.count <= 2, let last = parts.last, let name = FileName(stored: String(last)) else {
      return nil
    }
    return FileIndex.Address(folder: parts.count == 2 ? String(parts[0]) : "", name: name)
  }

  /// Contents of at most this many bytes are not resumed but transferred again.
  static let maxRestartedByteCount = 64 << 10

  /// The means to resume the download of `url`, and the number of bytes that have arrived.
  func resumption(of url: String) -> (resumption: FileIndex.Resumption, byteCount: Int)? {
    guard mayExist, let resumption = index.partial(address), resumption.url == url,
      let byteCount = directory.byteCount(of: partName), byteCount > 0,
      resumption.totalByteCount.map({ byteCount <= $0 }) ?? true
    else { return nil }
    return (resumption, byteCount)
  }

  /// Creates the file, empty, with the means to resume it; `nil` if it cannot be resumed.
  ///
  /// - Parameter isSynchronized: True if no failure of the machine may bring earlier bytes back under the new
  ///   entry.
  func create(
    _ resumption: FileIndex.Resumption?, isSynchronized: Bool
  ) throws(TransportError) -> OpenFile {
    try index.setPartial(nil, at: address)
    let file = try directory.open(partName, .create)
    if isSynchronized, mayExist, resumption != nil { try file.synchronize() }
    try index.setPartial(resumption, at: address)
    return file
  }

  /// Opens the file, to add to it.
  func extend() throws(TransportError) -> OpenFile { try directory.open(partName, .extend) }

  /// Removes the file and its entry.
  func discard() throws(TransportError) {
    try index.setPartial(nil, at: address)
    try directory.remove(partName)
  }

  /// Gives the file its name in `target`, replacing the file or link that has it.
  func complete(in target: Directory) throws(TransportError) {
    try directory.move(partName, to: address.name.text, in: target)
  }
}

extension FileIndex.Resumption {
  /// The means to resume a transfer that begins with this response to a request for `url`; `nil` if the server
  /// does not name the version of the content (RFC 9110, section 13.1.5).
  init?(of head: HTTPResponseHead, url: String) {
    guard !head.isEncoded,
      head.fields["Accept-Ranges"]?.lowercased() != "none",
      let validator = Self.strongValidator(of: head)
    else { return nil }
    self.init(url: url, validator: validator, totalByteCount: head.bodyByteCount)
  }

  /// A strong entity tag, or a date that no other version has.
  private static func strongValidator(of head: HTTPResponseHead) -> String? {
    guard let tag = HTTPValidators(of: head).entityTag else { return head.provenModificationDate }
    return tag.hasPrefix("W/") ? nil : tag
  }

  /// False if a response is known to have another version of the content.
  func isVersion(of head: HTTPResponseHead) -> Bool {
    let name = validator.hasPrefix("\"") ? head.fields["ETag"] : head.fields["Last-Modified"]
    return name.map { $0 == validator } ?? true
  }

  /// True if a part is known to be of this version. It has the entity tag that the whole had (RFC 9110, section
  /// 15.3.7); the date need not be repeated.
  func isVersion(ofPart head: HTTPResponseHead) -> Bool {
    isVersion(of: head) && (!validator.hasPrefix("\"") || head.fields["ETag"] != nil)
  }
}
