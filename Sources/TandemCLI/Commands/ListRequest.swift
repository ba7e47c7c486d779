import Tandem

/// The options of the commands that read lists, from files and from servers: one set and one meaning for all
/// of them.
struct ListRequest {
  /// The options, each declared once.
  enum Option {
    static let items = ValueOption<String>(
      "items", "FIELD",
      help: "The list is in this field of a JSON object; data.items for\none in another object.")
    static let page = ValueOption<RecordPaging>(
      "page", "HOW",
      takes: "link, header=NAME[,PARAM], cursor=FIELD[,PARAM], last=FIELD,PARAM, offset=PARAM, "
        + "number=PARAM[,FROM] or first",
      help: """
        The list comes in pages, and the next page is found by
        link: the Link field with rel=next;
        header=NAME: the address in this field of the response;
        cursor=FIELD: the address in a field beside the list, or
        in one inside another (meta.next);
        header=NAME,PARAM and cursor=FIELD,PARAM: the same, as
        the value of a parameter;
        last=FIELD,PARAM: the field of the last record, as the
        value of a parameter;
        offset=PARAM: the number of records before it;
        number=PARAM: its number; number=PARAM,FROM if the first
        page has the number FROM and not the one found out.
        first reads only the first page. Without this option, a
        response that names a next page is rejected.
        """
    ) { $0 == "none" ? nil : RecordPaging($0) }
    static let sameOrigin = Flag(
      "same-origin",
      help:
        "Ask for the next page at the list's own scheme and port\nif the server names others, as behind a "
        + "proxy.")
    static let header = ValueOption<HeaderArgument>(
      "header", "'NAME: VALUE'", isRepeatable: true,
      takes: "'Name: value', or @FILE for a file with such lines",
      help:
        "Send this with each request to the list's server.\n@FILE reads such lines from a file, "
        + "so that a token is not\non the command line. May be repeated."
    ) { HeaderArgument($0) }
    static let user = ValueOption<String>(
      "user", "NAME:PASSWORD",
      help:
        "Identify to the list's server by this name and password;\n@FILE reads them from a file.")
    static let netrc = Flag(
      "netrc", help: "Take names and passwords of servers from ~/.netrc.")
    static let netrcFile = ValueOption<String>(
      "netrc-file", "FILE", help: "Take names and passwords of servers from this file.")
    static let cacert = ValueOption<String>(
      "cacert", "FILE",
      help:
        "Trust the certificates in this PEM file instead of the\nsystem's (default: the variable "
        + "CURL_CA_BUNDLE or\nSSL_CERT_FILE).")
    static let cert = ValueOption<String>(
      "cert", "FILE", help: "Identify by the client certificate in this PEM file.")
    static let certKey = ValueOption<String>(
      "cert-key", "FILE", help: "The private key for --cert, if it is in another file.")
    static let retries = ValueOption(
      "retries", in: 0...1_000,
      help: "Repeat a request at most N times after an error that may\nbe temporary (default: "
        + "\(defaultRetryCount)). Obeys the delay that the server\nrequests, up to 5 min.")
    static let timeout = ValueOption.seconds(
      "timeout",
      help:
        "The time limit for a request or a content. Without it, a\nserver has to send its header "
        + "within \(HTTPTimeouts.defaultHead.components.seconds / 60) min, and then\nat least "
        + "\(HTTPTimeouts.defaultMinBytesPerSecond >> 10) KiB a second.")
    static let maxBytes = ValueOption.byteCount(
      "max-bytes",
      help: "The size limit of a list or a content after decompression\n(default: "
        + "\(RecordSource.defaultMaxByteCount >> 30) GiB for a list, "
        + "\(RecordListOptions.defaultMaxDecompressedByteCount >> 20) MiB for a list that is\n"
        + "compressed, \(FileRequest.defaultMaxByteCount >> 30) GiB for a content, "
        + "\(FileRequest.defaultMaxDecompressedByteCount >> 30) GiB for a\ncompressed one). "
        + "A list is held in memory.")
  }

  static let options: [any CommandOption] = [
    Option.items, Option.page, Option.sameOrigin, Option.header, Option.user, Option.netrc,
    Option.netrcFile,
    Option.cacert, Option.cert, Option.certKey, Option.retries, Option.timeout, Option.maxBytes,
  ]

  /// The default number of attempts after the first one.
  static let defaultRetryCount = 3

  /// The options of the requests for lists, and of reading them.
  var list = RecordListOptions()
  /// The options of the client for all requests.
  var client = HTTPClientOptions(timeouts: .transfers)
  private let user: (name: String, password: String)?
  private let arguments: ParsedArguments

  /// - Parameter format: The format that the command was given.
  init(_ arguments: ParsedArguments, format: RecordFormat?) throws(UsageError) {
    self.arguments = arguments
    user = try Self.user(arguments)
    list.format = format
    list.itemsField = arguments[Option.items]
    if list.itemsField != nil, let format, format != .json {
      throw arguments.error("--items is for JSON, not for \(format.rawValue)")
    }
    for argument in arguments.all(Option.header) {
      for field in try argument.fields(arguments) { list.fields.append(field.name, field.value) }
    }
    list.paging = arguments[Option.page] ?? .none
    list.keepsOrigin = arguments[Option.sameOrigin]
    if case .cursor = list.paging, list.itemsField == nil {
      throw arguments.error(
        "--page cursor needs --items: the name of the field that contains the list")
    }
    if let byteCount = arguments[Option.maxBytes] {
      (list.maxByteCount, list.maxDecompressedByteCount) = (byteCount, byteCount)
    }
    // The policy of lists, by the number and the delays of the other one.
    let retry = Self.retry(arguments)
    list.retry.maxAttemptCount = retry.maxAttemptCount
    (list.retry.firstDelay, list.retry.maxDelay) = (retry.firstDelay, retry.maxDelay)
    if let timeout = arguments[Option.timeout] {
      list.timeouts = HTTPTimeouts(total: timeout)
      client.timeouts = HTTPTimeouts()
    }
    client.certificateAuthorityFile =
      arguments[Option.cacert] ?? Self.environment("CURL_CA_BUNDLE")
      ?? Self.environment("SSL_CERT_FILE")
    client.clientCertificateFile = arguments[Option.cert]
    client.clientKeyFile = arguments[Option.certKey]
    if client.clientKeyFile != nil, client.clientCertificateFile == nil {
      throw arguments.error("--cert-key needs --cert")
    }
    client.netrcFile = arguments[Option.netrcFile]
    if arguments[Option.netrc] {
      guard client.netrcFile == nil else {
        throw arguments.error("--netrc and --netrc-file exclude each other")
      }
      client.netrcFile = (Self.environment("HOME") ?? "") + "/.netrc"
    }
    if let file = client.netrcFile, access(file, R_OK) != 0 {
      throw arguments.error("\(file) cannot be read; check --netrc or --netrc-file")
    }
  }

  /// The policy for attempts after failures.
  static func retry(_ arguments: ParsedArguments) -> MirrorRetryPolicy {
    MirrorRetryPolicy(maxAttemptCount: 1 + (arguments[Option.retries] ?? defaultRetryCount))
  }

  private static func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  private static func user(
    _ arguments: ParsedArguments
  ) throws(UsageError) -> (name: String, password: String)? {
    guard var text = arguments[Option.user] else { return nil }
    if text.hasPrefix("@") {
      text = try arguments.lines(ofFile: String(text.dropFirst()), for: Option.user).first ?? ""
    }
    // A password may have colons; a name has none (RFC 7617).
    guard let colon = text.firstIndex(of: ":") else {
      throw arguments.error("--user takes NAME:PASSWORD, or @FILE for a file with that in it")
    }
    return (String(text[..<colon]), String(text[text.index(after: colon)...]))
  }
}

// MARK: - Sources

extension ListRequest {
  /// The sources of these names, with the user's name and password, after a check that the options can have an
  /// effect on them.
  ///
  /// - Parameters:
  ///   - fetchesContents: True if contents are fetched from URLs, wherever the list comes from.
  ///   - readsFiles: True if the options for reading apply to files too.
  func sources(
    _ names: [String], fetchesContents: Bool = false, readsFiles: Bool = true
  ) throws(UsageError) -> [RecordSource] {
    let urls = names.filter { if case .url = RecordSource($0) { true } else { false } }
    try check(urls, fetchesContents, readsFiles)
    if list.keepsOrigin, !list.paging.namesNextAddress {
      throw arguments.error(
        "--\(Option.sameOrigin.name) needs --page link, header= or cursor=, by which a page names the next one"
      )
    }
    var sources: [RecordSource] = []
    for name in names {
      guard case .url(let url) = RecordSource(name), let user else {
        sources.append(RecordSource(name))
        continue
      }
      guard
        let url = HTTPURL.settingCredentials(user: user.name, password: user.password, in: url)
      else { throw arguments.error("--user and a user name in the address exclude each other") }
      sources.append(.url(url))
    }
    return sources
  }

  /// Rejects options that would have no effect, or send a secret to two servers.
  private func check(
    _ urls: [String], _ fetchesContents: Bool, _ readsFiles: Bool
  ) throws(UsageError) {
    let secrets: [any CommandOption] = [Option.header, Option.user]
    if let first = urls.first {
      for option in secrets where arguments.has(option) {
        guard urls.allSatisfy({ HTTPURL.haveSameOrigin($0, first) }) else {
          throw arguments.error(
            "--\(option.name) would go to two servers; use --netrc, or fetch one list to a file")
        }
      }
      return
    }
    let ofReading: [any CommandOption] = readsFiles ? [] : [Option.items, Option.maxBytes]
    let reason = "is for a list from a URL"
    try arguments.checkAbsent(secrets + [Option.page, Option.sameOrigin] + ofReading, reason)
    if fetchesContents { return }
    let contents = arguments.command.options.contains { $0.name == "content" }
    try arguments.checkAbsent(
      [
        Option.netrc, Option.netrcFile, Option.cacert, Option.cert, Option.certKey, Option.timeout,
        Option.retries,
      ], reason + (contents ? ", or for --content" : ""))
  }
}

extension RecordPaging {
  /// True if a page has the address of the next one.
  fileprivate var namesNextAddress: Bool {
    switch self {
    case .link, .header(_, nil), .cursor(_, nil): true
    case .none, .first, .header, .cursor, .last, .offset, .number: false
    }
  }
}

// MARK: - Reading

extension ListRequest {
  /// The list of a source with its text. `--items` is for the lists at URLs, unless there are none.
  func text(of source: RecordSource) async throws -> ListText {
    var options = list
    options.onLastPage = list.paging.singlePageNote
    var sourceClient: SystemHTTPClient?
    if case .url = source {
      sourceClient = try SystemHTTPClient(options: client)
    } else if hasURL {
      options.itemsField = nil
    }
    do {
      return try await source.text(options, client: sourceClient)
    } catch let error as RecordError {
      throw SourceError(source: source, error: error.advisingKey(arguments))
    } catch var error as TransportError {
      error.message += error.advice(for: nil)
      throw error
    }
  }

  private var hasURL: Bool {
    let names = arguments.operands
    return names.contains { if case .url = RecordSource($0) { true } else { false } }
  }
}

// MARK: - Fields of requests

/// A value of `--header`.
enum HeaderArgument {
  case field(HTTPFields.Field)
  /// A file with a field in each line.
  case file(String)

  init?(_ text: String) {
    if text.hasPrefix("@") {
      self = .file(String(text.dropFirst()))
    } else {
      guard let field = HTTPFields.Field(line: text) else { return nil }
      self = .field(field)
    }
  }

  /// The fields; blank lines of a file are skipped.
  func fields(_ arguments: ParsedArguments) throws(UsageError) -> [HTTPFields.Field] {
    switch self {
    case .field(let field): return [field]
    case .file(let path):
      var fields: [HTTPFields.Field] = []
      for line in try arguments.lines(ofFile: path, for: ListRequest.Option.header) {
        // The line may be a secret, so that it is not repeated.
        guard let field = HTTPFields.Field(line: line) else {
          throw arguments.error("--header @\(path): each line must be 'Name: value'")
        }
        fields.append(field)
      }
      return fields
    }
  }
}

extension HTTPFields.Field {
  /// The field in a line such as `Name: value`; `nil` if it has no name.
  fileprivate init?(line: String) {
    guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else {
      return nil
    }
    let value = line[line.utf8.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
    self.init(name: String(line[..<colon]), value: String(value))
  }
}

extension ParsedArguments {
  /// The maximum number of bytes of a file with secrets.
  private static let maxSecretByteCount = 64 << 10

  /// The lines of a small file that are not blank.
  fileprivate func lines(
    ofFile path: String, for option: any CommandOption
  ) throws(UsageError) -> [String] {
    do {
      let bytes = try FileText.bytes(of: path, maxByteCount: Self.maxSecretByteCount)
      return bytes.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        .map { String(decoding: $0, as: UTF8.self) }
        .filter { !$0.allSatisfy(\.isWhitespace) }
    } catch {
      throw self.error("--\(option.name) @\(error)")
    }
  }
}

// MARK: - Errors

extension RecordError {
  /// The error with the options that name a key, if it is about the default key.
  func advisingKey(_ arguments: ParsedArguments) -> RecordError {
    let hasDefault = arguments.command.options.contains { $0.name == DiffCommand.Option.noKey.name }
    guard code == .missingKey, hasDefault, !arguments.has(DiffCommand.Option.key) else {
      return self
    }
    var error = self
    error.message += "; name the key with --key, or compare whole records with --no-key"
    return error
  }
}

extension TransportError {
  /// The options that allow the rejected response, in parentheses; empty if there are none.
  ///
  /// - Parameter stage: The stage of the content; `nil` for the list.
  func advice(for stage: MirrorStage?) -> String {
    if maxByteCount != nil { return " (--max-bytes)" }
    if code == .timedOut { return " (--timeout)" }
    return code == .uncertainEnd && stage == .content ? " (--length, --sha256)" : ""
  }
}
