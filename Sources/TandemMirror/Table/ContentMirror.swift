internal import Synchronization
public import TandemHTTP

/// Mirrors a list into a table, and the contents that the list has addresses of into files: a
/// processor for ``OneWayMirror``.
///
/// A row points to files that are complete: files come first, then all rows in one transaction, then
/// the files that no row points to any more are removed. Readers of the table see the old list or the
/// new one; where the content of an item changed, they may see its new file a little earlier. If anything
/// failed, no file is removed.
///
/// An item's contents are asked for if its record differs from its row, or a file is missing; those
/// that have not changed since are not sent again. An item whose required contents could not be had
/// keeps its old row, or has none. If the run ends early, the table is left as it was, and what
/// arrived is used by the next run, which makes sure of the files that this one may have replaced,
/// whatever the list then is.
///
/// With a mirror that is a dry run (``DatabaseMirror/isDryRun``), and options that say so too, nothing is
/// written and no content is asked for; ``rehearsal`` has what a run would do.
///
/// A directory is one mirror's only: that of one database, table, key and field. It must be empty at
/// first, but for hidden files, directories without any others, and the database itself, and outside of
/// other mirrors' directories, and has the mark of its owner since. Whatever else is put there may be
/// removed. While there is no file in it, another mirror may take it.
///
/// The database remembers the contents that rows have files of. A mirror that does not name all of them is
/// refused with a ``MirrorError``, as is a ``DatabaseMirror`` alone, before anything is changed.
///
/// A run ends at its begin with a ``TransportError`` if the directory cannot be had, or another process
/// runs in it.
///
/// Use a mirror of its own for each table and each directory.
public final class ContentMirror: MirrorProcessor {
  /// Where the list is.
  public let source: RecordSource
  /// Whether the list is asked for only if it changed.
  public let isConditional: Bool
  /// The contents, in the order of their stages.
  public let contents: [MirroredContent]
  /// Whether runs only find out what they would do; set ``MirrorOptions/isDryRun``, too.
  public let isDryRun: Bool
  let listOptions: RecordListOptions
  let client: any HTTPClient
  let database: ContentDatabase
  let directoryPath: String
  let received: @Sendable (_ received: Int, _ total: Int?) -> Void
  let state = Mutex(ContentRun())
  let folders = Mutex(ContentFolders())
  let result = Mutex(ContentResult())

  /// A mirror from a list into a database file and a directory.
  ///
  /// - Parameters:
  ///   - source: Where the list is.
  ///   - listOptions: How it is asked for; the fields are sent with requests for contents too, to the
  ///     list's own scheme, host and port.
  ///   - mirror: The table, and its key. How much may be deleted is ``MirrorOptions/mirrorGuard``'s to
  ///     say.
  ///   - databasePath: The database file; created when it is known what is to be transferred.
  ///   - directoryPath: The directory; created if it is missing.
  ///   - contents: One or more contents of different stages and fields.
  ///   - isConditional: Whether the list is asked for only if it changed.
  ///   - client: What to send requests with.
  ///   - received: Called as bytes of the list arrive.
  /// - Precondition: `contents` have different stages and different fields.
  public init(
    _ source: RecordSource, listOptions: RecordListOptions = RecordListOptions(),
    mirror: DatabaseMirror, databasePath: String, directoryPath: String,
    contents: [MirroredContent], isConditional: Bool = true, client: any HTTPClient,
    received: @escaping @Sendable (_ received: Int, _ total: Int?) -> Void = { _, _ in }
  ) {
    precondition(
      Set(contents.map(\.stage)).count == contents.count
        && Set(contents.map(\.field)).count == contents.count,
      "Each content has a stage and a field of its own")
    self.source = source
    self.contents = contents
    self.isConditional = isConditional
    self.client = client
    self.received = received
    var listOptions = listOptions
    listOptions.key = mirror.key
    self.listOptions = listOptions
    database = ContentDatabase(path: databasePath, mirror: mirror, contents: contents)
    isDryRun = mirror.isDryRun
    self.directoryPath = directoryPath
  }

  /// The directory and what is in it, from the begin of a run to its end.
  var directory: MarkedDirectory? { folders.withLock { $0.directory } }
  var files: [StoredFiles] { folders.withLock { $0.files } }
  var stores: [FileStore] { folders.withLock { $0.stores } }
}

// MARK: - What came of the last run

/// What a run has done.
struct ContentResult {
  var outcome: DatabaseMirror.Outcome?
  var rehearsal: ContentRehearsal?
  var contentCount = 0
}

extension ContentMirror {
  /// What the last run that got so far did to the table; `nil` if none has.
  public var outcome: DatabaseMirror.Outcome? { result.withLock { $0.outcome } }

  /// What the last dry run that got so far found out; `nil` if none has.
  public var rehearsal: ContentRehearsal? { result.withLock { $0.rehearsal } }

  /// How many contents the last run fetched, or found to be what their servers have. The transfers of a
  /// ``MirrorReport`` include those of items that have no such content.
  public var contentCount: Int { result.withLock { $0.contentCount } }
}
