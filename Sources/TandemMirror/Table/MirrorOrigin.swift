internal import TandemDigests
internal import TandemHTTP

/// An address, the state of what it served, as the server names it, and what was made of that.
public struct MirrorOrigin: Hashable, Sendable {
  /// The URL that was asked for, without credentials: what is remembered in a database is read by
  /// whoever gets the file.
  public let url: String
  /// What the server sent along, to be asked again on condition that it changed.
  public let validators: RecordListValidators
  /// What else rows and files came of, without secrets: another one would make others of the same
  /// answer.
  let fingerprint: String

  /// An origin at the given URL, from which credentials are removed.
  ///
  /// - Parameters:
  ///   - url: The URL that was asked for.
  ///   - options: How it was asked for, and read.
  ///   - contents: What was put into files, if anything.
  ///   - validators: What the server sent along.
  public init(
    url: String, options: RecordListOptions = RecordListOptions(),
    contents: [MirroredContent] = [], validators: RecordListValidators
  ) {
    self.init(
      url: RecordSource.url(url).description, validators: validators,
      fingerprint: Self.fingerprint(url: url, options, contents))
  }

  /// An origin as it was remembered.
  init(url: String, validators: RecordListValidators, fingerprint: String) {
    self.url = url
    self.validators = validators
    self.fingerprint = fingerprint
  }
}

// MARK: - The fingerprint

extension MirrorOrigin {
  /// A digest that does not help to guess a secret, for there is none in it: of fields that may be
  /// secret it has the names, and of credentials, whether there are any. What an answer to others is
  /// worth, the server decides.
  private static func fingerprint(
    url: String, _ options: RecordListOptions, _ contents: [MirroredContent]
  ) -> String {
    let parts = [
      options.format.map { "\($0)" } ?? "", options.itemsField.map { "=\($0)" } ?? "",
      pages(options.paging), RecordSource.url(url).description == url ? "" : "@",
    ]
    let fields = options.fields.flatMap {
      [$0.name.lowercased(), HTTPRequest.isPublic($0.name) ? $0.value : ""]
    }
    let files = contents.flatMap {
      [$0.stage.name, $0.field, $0.digestField ?? "", $0.byteCountField ?? ""]
    }
    return digest(parts + ["\(options.fields.count)"] + fields + files)
  }

  /// How a list is paged. Earlier versions, which remembered the first of several pages only, wrote no
  /// more than the description: what they remembered is not trusted.
  private static func pages(_ paging: RecordPaging) -> String {
    paging == .none ? "\(paging)" : "\(paging), each"
  }

  /// The digest of texts, wherever one ends and the next begins.
  private static func digest(_ texts: [String]) -> String {
    let bytes = texts.flatMap { "\($0.utf8.count):\($0)".utf8 }
    return "\(SHA256Digest(of: bytes))"
  }
}
