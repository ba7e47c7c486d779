public import TandemHTTP
public import TandemRecords

/// How a list is asked for, and what is accepted as one.
public struct RecordListOptions: Sendable {
  /// The format; if `nil`, the content type, the file name or, at last, the first character tells.
  public var format: RecordFormat?
  /// The field of a JSON object that holds the list, as in `{"items": […]}`; `nil` for a list that
  /// stands by itself.
  public var itemsField: String?
  /// Fields to send with each request. They go to the list's own scheme, host and port only.
  public var fields: HTTPFields = [:]
  /// Ask only for what changed since. Of a list in pages, all are asked for, in their order; at the
  /// first that changed, the whole list is read anew.
  public var validators: RecordListValidators?
  /// Where further pages are.
  public var paging: RecordPaging = .none
  /// The fields that identify a record; if there are any, a record that comes in two pages shows that
  /// the list changed meanwhile.
  public var key: [String] = []
  /// The longest list to accept, in decoded bytes of all its pages.
  public var maxByteCount = RecordSource.defaultMaxByteCount
  /// The longest list to accept if it comes compressed, in decoded bytes of all its pages: a server that
  /// means ill sends few for very many.
  public var maxDecompressedByteCount = RecordListOptions.defaultMaxDecompressedByteCount
  /// The most pages to ask for.
  public var maxPageCount = RecordListOptions.defaultMaxPageCount
  /// Called when a list of a URL has been read to its end, with how many pages it has. One page may be
  /// all there is, or come of a ``paging`` that does not suit the server: the last page, too, may be
  /// without the field that leads on.
  public var onLastPage: (@Sendable (_ pageCount: Int) -> Void)?
  /// Timeouts for each request, in place of the client's.
  public var timeouts: HTTPTimeouts?
  /// Which requests are made again if they fail; a page that breaks off, or cannot be read, is asked
  /// for anew.
  public var retry: MirrorRetryPolicy = .lists
  /// Measures the delays of ``retry``.
  package var clock: any Clock<Duration> = ContinuousClock()

  /// The longest list that is accepted compressed unless told otherwise, in decoded bytes: 256 MiB.
  public static let defaultMaxDecompressedByteCount = 256 << 20

  /// The most pages to ask for unless told otherwise.
  public static let defaultMaxPageCount = 10_000

  /// The options as documented; change what should differ.
  public init() {}
}
