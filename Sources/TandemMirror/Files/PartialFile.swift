internal import TandemHTTP

/// A file that is on its way: what has arrived of it, and, if it can be gone on with, from where.
///
/// If it can be gone on with, it has the name it will get, with `.part` behind it, in the directory for
/// what is aside; what it takes to go on is in a file beside it. That is written before the first byte,
/// and removed before the bytes are of something else: what it says of them is always true. Otherwise,
/// where the system has such files, it has no name until it is complete, and nothing is left of it if it
/// never is.
struct PartialFile {
  private let directory: Directory
  private let name: String
  /// Whether something may be there from before.
  let mayExist: Bool
  /// Whether files may be written without a name.
  private let canBeUnnamed: Bool

  init(
    _ name: FileName, in directory: Directory, mayExist: Bool = true, canBeUnnamed: Bool = false
  ) {
    self.directory = directory
    self.name = name.text
    self.mayExist = mayExist
    self.canBeUnnamed = canBeUnnamed
  }

  var partName: String { "\(name).part" }
  private var sidecarName: String { "\(name).resume" }

  /// How a transfer goes on.
  struct Resumption: Equatable {
    /// The address, without credentials.
    var url: String
    /// What `If-Range` takes: a strong entity tag, or a date.
    var validator: String
    /// How long the whole content is, if that is known.
    var totalByteCount: Int?
  }

  /// Contents of at most this many bytes are not gone on with but transferred again.
  static let maxRestartedByteCount = 64 << 10

  private static let maxSidecarByteCount = 64 << 10
  fileprivate static let sidecarTitle = "tandem partial file 1"

  /// How to go on with the transfer of `url`, and how many bytes have arrived.
  func resumption(of url: String) -> (resumption: Resumption, byteCount: Int)? {
    guard mayExist, let byteCount = directory.byteCount(of: partName), byteCount > 0,
      let bytes = directory.contents(of: sidecarName, maxByteCount: Self.maxSidecarByteCount),
      let resumption = Resumption(bytes), resumption.url == url,
      resumption.totalByteCount.map({ byteCount <= $0 }) ?? true
    else { return nil }
    return (resumption, byteCount)
  }

  /// What has arrived, open to be added to.
  struct Contents {
    var file: OpenFile
    fileprivate(set) var isNamed = true
  }

  /// Begins anew a file that can be gone on with, or, for `nil`, that cannot.
  func create(_ resumption: Resumption?) throws(TransportError) -> Contents {
    if resumption == nil, canBeUnnamed, let file = directory.openUnnamed() {
      if mayExist { try discard() }
      return Contents(file: file, isNamed: false)
    }
    if mayExist { try directory.remove(sidecarName) }
    let file = try directory.open(partName, .create)
    if let resumption {
      try directory.open(sidecarName, .create, isPrivate: true).write(resumption.bytes)
    }
    return Contents(file: file)
  }

  /// Opens what has arrived, to add to it.
  func extend() throws(TransportError) -> Contents {
    Contents(file: try directory.open(partName, .extend))
  }

  /// Removes all of it.
  func discard() throws(TransportError) {
    try directory.remove(sidecarName)
    try directory.remove(partName)
  }

  /// Gives the file its name in `target`, in place of what has it there.
  func complete(
    _ contents: Contents, as name: FileName, in target: Directory
  ) throws(TransportError) {
    if contents.isNamed {
      try directory.remove(sidecarName)
    } else {
      if target.name(contents.file, name.text) { return }
      // What is there can only be replaced by a file that has a name.
      try directory.remove(partName)
      guard directory.name(contents.file, partName) else {
        throw .cannotWrite("the file cannot be given a name", "\(target.path)/\(name)")
      }
    }
    try directory.move(partName, to: name.text, in: target)
  }

  /// Whether a directory's file system has files without a name, and gives them one.
  static func canBeUnnamed(in directory: Directory) throws(TransportError) -> Bool {
    let probe = "probe"
    try directory.remove(probe)
    guard let file = directory.openUnnamed(), directory.name(file, probe) else { return false }
    try directory.remove(probe)
    return true
  }

  /// The file that something aside belongs to; `nil` for what no partial file would be.
  static func owner(of name: String) -> FileName? {
    for suffix in [".part", ".resume"] where name.hasSuffix(suffix) {
      return FileName(stored: String(name.dropLast(suffix.count)))
    }
    return nil
  }
}

extension PartialFile.Resumption {
  /// How to go on with a transfer that begins with this response to a request for `url`; `nil` if
  /// there is no telling later whether the content still is the same (RFC 9110, section 13.1.5).
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

  /// The lines of the file beside the partial one. None of them can hold a line break: an address
  /// with one is refused, and so is a field.
  fileprivate var bytes: [UInt8] {
    let total = totalByteCount.map { "\($0)" } ?? ""
    let lines = [PartialFile.sidecarTitle, url, validator, total, "end"]
    return Array(lines.joined(separator: "\n").utf8)
  }

  fileprivate init?(_ bytes: [UInt8]) {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    guard lines.count == 5, lines[0] == PartialFile.sidecarTitle, lines[4] == "end" else {
      return nil
    }
    let total = httpNumber(lines[3]).flatMap { Int(exactly: $0) }
    guard total != nil || lines[3].isEmpty else { return nil }
    self.init(url: lines[1], validator: lines[2], totalByteCount: total)
  }
}
