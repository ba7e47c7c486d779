public import TandemRecords

/// Where a list of records comes from.
public enum RecordSource: Hashable, Sendable {
  /// A file, by its path.
  case file(String)
  /// Standard input.
  case standardInput
  /// An http or https address.
  case url(String)

  /// Reads an argument as people type it: `-` is standard input, anything with a scheme a URL, all
  /// else a path.
  public init(_ argument: String) {
    if argument == "-" {
      self = .standardInput
    } else if argument.contains("://") {
      self = .url(argument)
    } else {
      self = .file(argument)
    }
  }
}

extension RecordSource: CustomStringConvertible {
  /// The source as people type it, without credentials.
  public var description: String {
    switch self {
    case .file(let path): return path
    case .standardInput: return "standard input"
    case .url(let url): return TransportError.withoutCredentials(url)
    }
  }
}

/// What a source had to say.
public enum RecordList: Sendable {
  /// The records, and what the server, if there is one, sent to ask again by.
  case records([Record], HTTPValidators)
  /// The server says that nothing changed since the validators it was asked with.
  case notModified
}

extension RecordSource {
  /// The longest list that is read unless told otherwise, in decoded bytes: 2 GiB.
  public static let defaultMaxByteCount = 2 << 30

  /// Reads the whole list.
  ///
  /// - Parameters:
  ///   - format: The format; if `nil`, the content type, the file name or, at last, the first
  ///     character tells.
  ///   - validators: For a URL: ask only for what changed since.
  ///   - client: What to send the request with; needed for a URL alone.
  ///   - maxByteCount: The longest list to accept, in decoded bytes.
  ///   - progress: Called as bytes arrive from a URL, with how many, and of how many if that is known.
  /// - Throws: ``TransportError`` if the list cannot be had whole; ``RecordError`` if it cannot be
  ///   read as records; `CancellationError`.
  public func list(
    format: RecordFormat? = nil, validators: HTTPValidators? = nil,
    client: @autoclosure () throws -> any HTTPClient,
    maxByteCount: Int = defaultMaxByteCount,
    progress: (_ received: Int, _ total: Int?) -> Void = { _, _ in }
  ) async throws -> RecordList {
    switch self {
    case .file(let path):
      let bytes = try FileBytes.read(path: path, maxByteCount: maxByteCount)
      return .records(
        try Self.records(in: bytes, format: format ?? RecordFormat(fileName: path)),
        HTTPValidators())
    case .standardInput:
      let bytes = try FileBytes.readStandardInput(maxByteCount: maxByteCount)
      return .records(try Self.records(in: bytes, format: format), HTTPValidators())
    case .url(let url):
      var request = HTTPRequest(url: url)
      request.fields["Accept"] = "application/json, application/x-ndjson, text/csv, */*;q=0.5"
      request.maxBodyByteCount = maxByteCount
      if let validators { request.makeConditional(on: validators) }
      return try await list(request, format: format, client: client(), progress: progress)
    }
  }

  private func list(
    _ request: HTTPRequest, format: RecordFormat?, client: any HTTPClient,
    progress: (_ received: Int, _ total: Int?) -> Void
  ) async throws -> RecordList {
    let stream = try await client.stream(request)
    if stream.head.isNotModified,
      request.fields["If-None-Match"] != nil
        || request.fields["If-Modified-Since"] != nil
    {
      return .notModified
    }
    try stream.head.requireSuccess()
    guard stream.head.status != 206 else {
      throw TransportError(
        .badStatus, "the server answered with a part of the list (206), which was not asked for",
        url: request.url)
    }
    var bytes: [UInt8] = []
    for try await chunk in stream.body {
      bytes.append(contentsOf: chunk)
      progress(bytes.count, stream.head.bodyByteCount)
    }
    let named =
      stream.head.fields["Content-Type"].flatMap { RecordFormat(contentType: $0) }
      ?? RecordFormat(fileName: stream.head.pathWithoutQuery)
    let records = try Self.records(in: bytes, format: format ?? named)
    return .records(records, HTTPValidators(of: stream.head))
  }

  private static func records(
    in bytes: [UInt8], format: RecordFormat?
  ) throws(RecordError) -> [Record] {
    try RecordReader.records(in: bytes, format: format ?? .sniffed(from: bytes))
  }
}

extension HTTPResponseHead {
  /// The address without query and fragment.
  fileprivate var pathWithoutQuery: String { String(url.prefix { $0 != "?" && $0 != "#" }) }
}
