internal import TandemDigests
internal import TandemHTTP
internal import TandemRecords

/// The URL that a list came from, the validators that the server sent with it, and a fingerprint of the
/// options by which rows and files were made of it.
package struct MirrorOrigin: Hashable, Sendable {
  /// The URL of the list, without credentials: anyone who gets the database can read it.
  package let url: String
  /// The validators that the server sent, for the next conditional request.
  package let validators: RecordListValidators
  /// A digest of the options, without secrets: other options make other rows and files of the same list.
  let fingerprint: String

  /// An origin at the given URL, from which credentials are removed.
  ///
  /// - Parameters:
  ///   - url: The URL of the list.
  ///   - options: The options of the request and of the reading.
  ///   - contents: The contents that were put into files.
  ///   - validators: The validators that the server sent.
  package init(
    url: String, options: RecordListOptions = RecordListOptions(),
    contents: [MirroredContent] = [], validators: RecordListValidators
  ) {
    self.init(
      url: RecordSource.url(url).description, validators: validators,
      fingerprint: Self.fingerprint(url: url, options, contents))
  }

  /// An origin as the database has it.
  init(url: String, validators: RecordListValidators, fingerprint: String) {
    self.url = url
    self.validators = validators
    self.fingerprint = fingerprint
  }
}

// MARK: - The fingerprint

extension MirrorOrigin {
  /// A digest that does not help to guess a secret, because no secret is in it: it has the names of fields
  /// that may be secret, and one bit for credentials in the URL. A server that answers others differently
  /// sends other validators.
  private static func fingerprint(
    url: String, _ options: RecordListOptions, _ contents: [MirroredContent]
  ) -> String {
    let parts = [
      options.format.map { "\($0)" } ?? "", options.itemsField.map { "=\($0)" } ?? "",
      pages(options.paging), dialect(options.csv),
      RecordSource.url(url).description == url ? "" : "@",
    ]
    let fields = options.fields.flatMap {
      [$0.name.lowercased(), HTTPRequest.isPublic($0.name) ? $0.value : ""]
    }
    let files = contents.flatMap {
      [$0.stage.name, $0.field, $0.digestField ?? "", $0.byteCountField ?? ""]
    }
    let texts = ["\(options.csv.textFields.count)"] + options.csv.textFields
    return digest(parts + texts + ["\(options.fields.count)"] + fields + files)
  }

  /// The paging as text. The first versions kept the validators of the first page alone and wrote only the
  /// description, and took the first of several pages for the whole list: the changed texts make their
  /// validators count as those of other options.
  private static func pages(_ paging: RecordPaging) -> String {
    paging == .none ? "none, whole" : "\(paging), each"
  }

  /// The dialect of CSV as text. The first versions wrote none: they read texts that look like numbers as
  /// numbers for columns of texts too.
  private static func dialect(_ csv: CSVOptions) -> String {
    let bytes = [csv.delimiter, csv.comment].map { $0.map { "\($0)" } ?? "" }
    let reading = [csv.quotes.rawValue, "\(csv.hasHeader)", "\(csv.skippedLineCount)"]
    return ([csv.encoding.rawValue, "\(csv.allowsRaggedRows)"] + bytes + reading).joined(
      separator: ",")
  }

  /// A digest of texts that depends on where each of them ends.
  private static func digest(_ texts: [String]) -> String {
    let bytes = texts.flatMap { "\($0.utf8.count):\($0)".utf8 }
    return "\(SHA256Digest(of: bytes))"
  }
}
