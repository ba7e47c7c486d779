internal import Synchronization
public import TandemMirror
public import TandemTransports

/// Mirrors a list into a table, and the contents that the list has addresses of into files: a
/// processor for ``OneWayMirror``.
///
/// A row points to files that are complete: files come first, then all rows in one transaction, then
/// the files that no row points to any more are removed. Readers of the table see the old list or the
/// new one; where the content of an item changed, they may see its new file a little earlier.
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
/// first, and has the mark of its owner since. Whatever else is put there may be removed.
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
  /// The files of each content, to look at, and to change; there is nothing to change them by in a dry
  /// run.
  let files: [StoredFiles]
  let stores: [FileStore]
  let received: @Sendable (_ received: Int, _ total: Int?) -> Void
  let state = Mutex(ContentRun())
  let lastOutcome = Mutex<DatabaseMirror.Outcome?>(nil)
  let lastRehearsal = Mutex<ContentRehearsal?>(nil)

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
  /// - Throws: ``TransportError`` if the directory cannot be had, or another process has it.
  /// - Precondition: `contents` have different stages and different fields.
  public init(
    _ source: RecordSource, listOptions: RecordListOptions = RecordListOptions(),
    mirror: DatabaseMirror, databasePath: String, directoryPath: String,
    contents: [MirroredContent], isConditional: Bool = true, client: any HTTPClient,
    received: @escaping @Sendable (_ received: Int, _ total: Int?) -> Void = { _, _ in }
  ) throws(TransportError) {
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
    var files: [StoredFiles] = []
    var stores: [FileStore] = []
    for content in contents {
      if mirror.isDryRun {
        files.append(try StoredFiles(path: directoryPath, folder: content.folder))
      } else {
        stores.append(try FileStore(path: directoryPath, folder: content.folder))
      }
    }
    self.files = mirror.isDryRun ? files : stores.map(\.files)
    self.stores = stores
  }

  /// What the last run that got so far did to the table; `nil` if none has.
  public var outcome: DatabaseMirror.Outcome? { lastOutcome.withLock { $0 } }

  /// What the last dry run that got so far found out; `nil` if none has.
  public var rehearsal: ContentRehearsal? { lastRehearsal.withLock { $0 } }
}
