public import TandemHTTP
public import TandemRecords
public import TandemSQLite

extension DatabaseMirror {
  /// The progress of a run.
  public enum Progress: Sendable {
    /// Bytes of the list have arrived; the total is `nil` if it is unknown.
    case reading(byteCount: Int, totalByteCount: Int?)
    /// The run has come to another phase, or further in its transfers.
    case running(MirrorPhase)
    /// Changes have been written, 1,000 at a time, and not yet committed.
    case writing(changeCount: Int, totalCount: Int)
  }

  /// The result of a run, or, for a dry run, of what a run would do.
  public struct Report: Sendable {
    /// A content that was fetched, or found to be what its server has; in a dry run, one that would be asked
    /// for.
    public struct Content: Hashable, Sendable {
      /// The item.
      public var id: RecordKey
      /// The stage of the content.
      public var stage: MirrorStage
      /// The address of the content, without credentials.
      public var url: String
      /// The path of the file, as the row has it.
      public var path: String
    }

    /// The steps and the transfers of the run, with everything that failed.
    ///
    /// Its transfers include items that have no such content. If the server's list is unchanged, its counts are
    /// those of the rows with files, and 0 for a table alone.
    public var run = MirrorReport<RecordKey>()
    /// The changes of the table; `nil` if the server's list is unchanged, or the run ended before its commit.
    public var outcome: Outcome?
    /// The contents, stage by stage for a dry run, otherwise in the order in which they arrived.
    public var contents: [Content] = []
    /// The files that were removed because no row points to them, as rows would have them.
    public var removedPaths: [String] = []

    /// The report of a run that has done nothing.
    public init() {}
  }

  /// The error of a run that ended early.
  public struct RunError: Error {
    /// The failure that ended the run.
    public var failure: MirrorFailure<RecordKey>
    /// The result of the run until then.
    public var report: Report
  }

  /// Makes the table equal to the list from a source, and the directory equal to the contents of the list.
  ///
  /// The steps are: list, compare, ask the guard, fetch the contents, commit the difference, remove files. The
  /// commit writes the difference that was compared; if the table was changed since by anyone, the list is
  /// compared again in the transaction that writes.
  ///
  /// Transfers that failed without ending the run are in the report, and are no error. Cancelling the task
  /// cancels the run.
  ///
  /// - Parameters:
  ///   - source: The source of the list.
  ///   - database: The database. Its live queries see the commit as one of its own.
  ///   - listOptions: The options of the requests for the list, and of its reading. The fields are sent with
  ///     requests for contents too, to the list's own scheme, host and port.
  ///   - isConditional: True to ask a server for the list only if it changed. A run after one with failures asks
  ///     for all of it. False to ask for the list and for all contents without conditions.
  ///   - client: The client for all requests; by default, one with ``clientOptions``.
  ///   - progress: Called as the run proceeds, in order. It must not block.
  /// - Throws: ``RunError`` if the run ended early: by an error of the list
  ///   (``/TandemHTTP/TransportError``, ``/TandemRecords/RecordError``), of the table
  ///   (``MirrorError``, ``/TandemSQLite/DatabaseError``) or of a content, or by a cancellation.
  ///   The table is as it was then.
  /// - Precondition: If there are contents, there is a directory.
  @discardableResult
  public func run(
    from source: RecordSource, into database: Database,
    list listOptions: RecordListOptions = RecordListOptions(), isConditional: Bool = true,
    client: (any HTTPClient)? = nil,
    progress: @escaping @Sendable (Progress) -> Void = { _ in }
  ) async throws -> Report {
    let database = MirrorDatabase(database, isReadOnly: isDryRun)
    return try await run(from: source, database, listOptions, isConditional, client, progress)
  }

  /// The same for a database file that is named by its path, and created if it is missing, as soon as there is
  /// something to write. See ``run(from:into:list:isConditional:client:progress:)``.
  @discardableResult
  public func run(
    from source: RecordSource, intoFileAt path: String,
    list listOptions: RecordListOptions = RecordListOptions(), isConditional: Bool = true,
    client: (any HTTPClient)? = nil,
    progress: @escaping @Sendable (Progress) -> Void = { _ in }
  ) async throws -> Report {
    let database = MirrorDatabase(path: path, isReadOnly: isDryRun)
    return try await run(from: source, database, listOptions, isConditional, client, progress)
  }

  private func run(
    from source: RecordSource, _ database: MirrorDatabase, _ listOptions: RecordListOptions,
    _ isConditional: Bool, _ client: (any HTTPClient)?,
    _ progress: @escaping @Sendable (Progress) -> Void
  ) async throws -> Report {
    let steps = DatabaseMirrorSteps(
      self, source: source, listOptions: listOptions, isConditional: isConditional,
      client: try client ?? defaultClient(for: source), database: database, progress: progress)
    let run = await steps.run(options)
    await database.close()
    var report = steps.report
    report.run = run
    if let failure = run.interruption { throw RunError(failure: failure, report: report) }
    return report
  }

  private var options: MirrorOptions {
    let stages = contents.map {
      MirrorStageOptions($0.stage, errorPolicy: $0.errorPolicy, timeout: $0.timeout)
    }
    return MirrorOptions(
      stages: stages, concurrency: concurrency, mirrorGuard: mirrorGuard, retry: retry,
      isDryRun: isDryRun)
  }

  /// A client with a connection for each transfer; `nil` if nothing will be asked for.
  func defaultClient(for source: RecordSource) throws -> (any HTTPClient)? {
    if contents.isEmpty, !source.isURL { return nil }
    var clientOptions = clientOptions
    clientOptions.maxConnectionCountPerHost = max(
      clientOptions.maxConnectionCountPerHost, options.maxTransferCount)
    return try SystemHTTPClient(options: clientOptions)
  }
}

extension DatabaseMirror.RunError: CustomStringConvertible {
  /// The description of the failure.
  public var description: String { failure.description }
}

extension RecordSource {
  fileprivate var isURL: Bool { if case .url = self { true } else { false } }
}
