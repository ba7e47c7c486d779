public import TandemHTTP
public import TandemRecords

/// The options of the requests for a list, and the limits for accepting it.
public struct RecordListOptions: Sendable {
  /// The format; if `nil`, it follows from the content type, the file name or the first character.
  public var format: RecordFormat?
  /// The dialect of CSV.
  public var csv = CSVOptions()
  /// The field of a JSON object that holds the list, as in `{"items": […]}`, or the path to it, as `data.items`
  /// for one inside another; `nil` for a list at the top level. `*` is an object of objects, as in
  /// `{"a": {…}, "b": {…}}`, and `data.*` one inside another: each record has the name of its member in the field
  /// `key`.
  public var itemsField: String?
  /// Fields to send with each request. They go to the list's own scheme, host and port only.
  public var fields: HTTPFields = [:]
  /// The validators for a conditional request. The pages of a list are asked for in their order; at the first
  /// page that changed, the whole list is read again.
  public var validators: RecordListValidators?
  /// The way to further pages.
  public var paging: RecordPaging = .none
  /// True to ask for a next page at the scheme and port of the page that names it, if its address differs in
  /// them alone, as behind a proxy that the server does not know of. Otherwise such an address is an error, as one
  /// on another server always is.
  public var keepsOrigin = false
  /// The fields that identify a record. One may be a path into an object of the record, as `properties.code`: the
  /// record then gets a field of this name. A record that comes in two pages then shows that the list changed
  /// meanwhile, and a list of which only values change all the time is no error.
  public var key: [String] = []
  /// The maximum length of a list, in decoded bytes of all its pages.
  public var maxByteCount = RecordSource.defaultMaxByteCount
  /// The maximum length of a list if it comes compressed, or is a gzip file, in decoded bytes of all its pages:
  /// few compressed bytes may stand for very many.
  public var maxDecompressedByteCount = RecordListOptions.defaultMaxDecompressedByteCount
  /// The maximum number of pages to ask for.
  public var maxPageCount = RecordListOptions.defaultMaxPageCount
  /// The maximum number of pages without records, one after the other, that each name a next one.
  public var maxEmptyPageCount = RecordListOptions.defaultMaxEmptyPageCount
  /// Called with the number of pages when a list of a URL has been read to its end. A single page may be the
  /// whole list, or the result of a ``paging`` that does not fit the server: the field that names the next page
  /// is missing in both.
  public var onLastPage: (@Sendable (_ pageCount: Int) -> Void)?
  /// Timeouts for each request, in place of the client's.
  public var timeouts: HTTPTimeouts?
  /// The further attempts at requests that failed, including pages that broke off or cannot be read.
  public var retry: MirrorRetryPolicy = .lists
  /// Measures the delays of ``retry``.
  package var clock: any Clock<Duration> = ContinuousClock()

  /// The default limit for a compressed list, in decoded bytes: 256 MiB.
  public static let defaultMaxDecompressedByteCount = 256 << 20

  /// The default limit for the number of pages.
  public static let defaultMaxPageCount = 10_000

  /// The default limit for the number of pages without records in a row.
  public static let defaultMaxEmptyPageCount = 100

  /// The options as documented; change what should differ.
  public init() {}
}
