internal import Synchronization
internal import TandemDifferences
internal import TandemHTTP
internal import TandemRecords
internal import TandemSQLite

/// The steps of one run of a ``DatabaseMirror``, in order: begin, plan, transfers, commit.
///
/// A mirror of a table alone takes the same steps, with no transfers.
final class DatabaseMirrorSteps: Sendable {
  let mirror: DatabaseMirror
  let source: RecordSource
  let listOptions: RecordListOptions
  let isConditional: Bool
  private let client: (any HTTPClient)?
  let database: MirrorDatabase
  let progress: @Sendable (DatabaseMirror.Progress) -> Void
  let state = Mutex(State())
  let folders = Mutex(ContentFolders())

  /// The facts that the run has found out, and the transfers it has made, so far.
  struct State {
    /// The paths of the files of each row, by its key.
    var files: [RecordKey: [String?]] = [:]
    /// The files of each content that may not belong to their committed rows.
    var dirty: [Set<FileName>] = []
    var plan: Plan?
    var transfers = Transfers()
    var report = DatabaseMirror.Report()
    /// The addresses of the list and its pages, parsed.
    private var bases: [String: HTTPURL.Base] = [:]

    /// The address of the list or of a page.
    mutating func base(_ url: String) -> HTTPURL.Base {
      if let base = bases[url] { return base }
      let base = HTTPURL.Base(url)
      bases[url] = base
      return base
    }
  }

  /// The list and the difference that the run commits.
  struct Plan {
    var comparison: DatabaseMirror.Comparison
    var validators: RecordListValidators
    /// The items that are transferred.
    var items: [MirroredItem] = []
    /// The keys of the items that have no row.
    var insertedIDs: Set<RecordKey> = []
    /// The rows that differ from their items, by key.
    var oldRows: [RecordKey: Record] = [:]
  }

  /// The transfers and removals that have been made.
  struct Transfers {
    /// The path of each file, by item and content; an inner `nil` for an item without such content.
    var paths: [RecordKey: [Int: String?]] = [:]
    var removedIDs = Set<RecordKey>()
    var isPrepared = false

    mutating func add(_ path: String?, at position: Int, of id: RecordKey) {
      paths[id, default: [:]][position] = .some(path)
    }
  }

  init(
    _ mirror: DatabaseMirror, source: RecordSource, listOptions: RecordListOptions,
    isConditional: Bool, client: (any HTTPClient)?, database: MirrorDatabase,
    progress: @escaping @Sendable (DatabaseMirror.Progress) -> Void
  ) {
    self.mirror = mirror
    self.source = source
    self.listOptions = {
      var options = listOptions
      options.key = mirror.key
      options.csv.requiredFields = mirror.key
      options.csv.keyFields = mirror.key
      return options
    }()
    self.isConditional = isConditional
    self.client = client
    self.database = database
    self.progress = progress
  }

  var contents: [MirroredContent] { mirror.contents }
  var report: DatabaseMirror.Report { state.withLock { $0.report } }

  /// Performs the run.
  func run(_ options: MirrorOptions) async -> MirrorReport<RecordKey> {
    var processor = MirrorProcessor<MirroredItem>(transfer: transfer, remove: remove)
    processor.begin = begin
    processor.prepare = prepare
    processor.end = end
    // As many as the limit for open files allows.
    if !contents.isEmpty { processor.maxTransferCount = FileStore.maxTransferCount }
    return await processor.run(
      options, publish: { [progress] in progress(.running($0)) }, plan: plan)
  }

  func requiredClient() -> any HTTPClient {
    guard let client else {
      preconditionFailure("There is a client if there is anything to ask for")
    }
    return client
  }
}

// MARK: - Listing

extension DatabaseMirrorSteps {
  /// Opens the directory and reads the rows' files.
  ///
  /// - Throws: ``TransportError`` if the directory is another mirror's, or has files of others;
  ///   ``MirrorError`` if rows have files that the run would forget.
  func begin() async throws {
    let (mirror, contents) = (mirror, contents)
    try await database.read { connection in
      let directory = try DirectoryState.load(table: mirror.table, from: connection)
      let schema = try connection.schema(ofTable: mirror.table)
      try directory?.requireContents(contents, ofTable: schema)
      if let schema { try mirror.requireTypes(of: schema) }
    }
    guard !contents.isEmpty else { return }
    let unchecked = try await openFolders()
    let rows = try await database.read { try mirror.files(in: $0) }
    var dirty = files.map(\.dirtyNames)
    for position in unchecked {
      dirty[position].formUnion(rows.values.compactMap { contents[position].name($0[position]) })
    }
    state.withLock { [dirty] state in
      state.files = rows
      state.dirty = dirty
    }
  }

  /// Reads the list and compares it with the table.
  func plan(listed: @Sendable (_ sourceCount: Int) -> Void) async throws -> MirrorPlan<MirroredItem>
  {
    guard case .records(let records, let validators, let bases) = try await list() else {
      return unmodifiedPlan()
    }
    listed(records.count)
    try requireNamedFields(records)
    try requireFreeFields(records)
    let files = state.withLock { $0.files }
    var mirror = mirror
    if case .table(let name, let path) = source {
      mirror.sourceTypes = try await SourceTable(name: name, path: path)
        .columnTypes(key: mirror.key)
      mirror.comparesTypes = contents.isEmpty
    }
    let comparison = try await database.read { [mirror] connection in
      try DatabaseMirror.Comparison(mirror, records, files: files, in: connection)
    }
    return plan(records, bases, comparison, validators)
  }

  /// The answer to the request for the list. If the server says that it is unchanged, and the table or a file
  /// was changed while the server was asked, the list is asked for again.
  private func list() async throws -> RecordList {
    let known = try await validators()
    let answer = try await list(known)
    guard case .notModified = answer, try await validators() != known else { return answer }
    return try await list(nil)
  }

  /// The ways to read the cells of CSV, by the types that columns have or will get: `1.50` shall not become `1.5`
  /// in a column of texts.
  private func cellKinds() async throws -> [String: CSVColumnKind] {
    let present = try await database.read { [mirror] connection in
      try connection.schema(ofTable: mirror.table)?.cellKinds(key: mirror.key) ?? [:]
    }
    let declared = mirror.columnTypes.mapValues { type -> CSVColumnKind in
      switch type {
      case .text: .texts
      case .integer, .real: .numbers
      case .blob, .any: .any
      }
    }
    return declared.filter { name, _ in !present.keys.contains { isSameName($0, name) } }
      .merging(present) { _, present in present }
  }

  private func list(_ validators: RecordListValidators?) async throws -> RecordList {
    var options = listOptions
    options.csv.columnKinds = try await cellKinds()
    options.validators = validators
    return try await source.list(options, client: client) { [progress] in
      progress(.reading(byteCount: $0, totalByteCount: $1))
    }
  }

  /// True to ask for contents whose record did not change.
  private var asksForAllContents: Bool { !isConditional || mirror.revalidatesContents }

  /// The validators for the request; `nil` if a content is asked for whatever the list is, because its address is
  /// only in the list: all are, or a file is missing or dirty.
  private func validators() async throws -> RecordListValidators? {
    guard isConditional, contents.isEmpty || !asksForAllContents, case .url(let url) = source
    else { return nil }
    let (files, dirty) = state.withLock { ($0.files, $0.dirty) }
    guard dirty.allSatisfy(\.isEmpty), files.values.allSatisfy({ areIntact($0) }) else {
      return nil
    }
    let (mirror, options) = (mirror, listOptions)
    return try await database.read { try mirror.validators(for: url, options: options, in: $0) }
  }

  /// The plan for a list that is unchanged: every row stays as it is. The rows of a table without files are
  /// not even counted, since that would read all of them.
  private func unmodifiedPlan() -> MirrorPlan<MirroredItem> {
    let count = state.withLock { $0.files.count }
    var plan = MirrorPlan<MirroredItem>()
    (plan.sourceCount, plan.localCount, plan.skippedCount) = (count, count, count)
    return plan
  }

  /// The plan for a list: an item is transferred if its row differs from it, or if one of its files is
  /// missing, dirty or new, or if all contents are asked for.
  private func plan(
    _ records: PackedRecords, _ bases: RecordBases, _ comparison: DatabaseMirror.Comparison,
    _ validators: RecordListValidators
  ) -> MirrorPlan<MirroredItem> {
    let (target, changes) = (comparison.target, comparison.changes)
    var known = Plan(comparison: comparison, validators: validators)
    var plan = MirrorPlan<MirroredItem>()
    plan.sourceCount = records.count
    plan.localCount = comparison.existingCount
    plan.removals = changes.deleted.map(target.key(of:))
    plan.removalRemark = comparison.deletionRemark
    plan.skippedCount = records.count - changes.insertedCount - changes.updatedCount
    if !contents.isEmpty {
      known.insertedIDs = Set(changes.inserted.map(target.key(of:)))
      for update in changes.updated { known.oldRows[target.key(of: update.old)] = update.old }
      let dirty = state.withLock { $0.dirty }
      for (position, record) in records.enumerated() {
        let row = comparison.list.record(at: position)
        let id = target.key(of: row)
        let files = target.files(of: row)
        let fileStates = zip(contents, files).map { ($1 != nil, $0.isNamed(by: record)) }
        let isCurrent =
          !known.insertedIDs.contains(id) && known.oldRows[id] == nil && areIntact(files)
          && areClean(files, dirty)
          && fileStates.allSatisfy { !$1 || $0 && !asksForAllContents }
        if isCurrent { continue }
        known.items.append(
          MirroredItem(id: id, position: position, record: record, base: bases[position]))
        if fileStates.contains(where: { $0 && !$1 }) { plan.lossCount += 1 }
      }
      plan.transfers = known.items
      plan.skippedCount = records.count - known.items.count
    }
    state.withLock { [known] in $0.plan = known }
    return plan
  }

  private func areClean(_ paths: [String?], _ dirty: [Set<FileName>]) -> Bool {
    contents.indices.allSatisfy { position in
      dirty[position].isEmpty
        || contents[position].name(paths[position]).map { !dirty[position].contains($0) } ?? true
    }
  }
}

// MARK: - Fields

extension DatabaseMirrorSteps {
  /// The maximum number of fields that an error names.
  private static let maxNamedFieldCount = 20

  /// Throws if no record has a field that contents are fetched or checked by: it is another list, its fields
  /// have other names now, or the name was misspelt.
  private func requireNamedFields(_ records: PackedRecords) throws(MirrorError) {
    let layouts = records.layouts
    let fields = contents.flatMap { [$0.field, $0.digestField, $0.byteCountField] }
    for case let field? in fields {
      guard layouts.allSatisfy({ $0.offset(of: field) == nil }), !layouts.isEmpty else { continue }
      throw MirrorError(
        .unfitSource,
        "no record of the list has the field \(field); its fields are \(Self.names(in: layouts))")
    }
  }

  private static func names(in layouts: [RecordLayout]) -> String {
    var names: [String] = []
    for name in layouts.lazy.flatMap(\.names) where !names.contains(name) {
      guard names.count < maxNamedFieldCount else {
        names.append("…")
        break
      }
      names.append(name)
    }
    return names.joined(separator: ", ")
  }

  /// Throws if the list has a field with the name of a column for files.
  private func requireFreeFields(_ records: PackedRecords) throws(MirrorError) {
    guard !contents.isEmpty else { return }
    for layout in records.layouts {
      for content in contents where layout.names.contains(where: content.fileField.isSameSQLName) {
        throw MirrorError(
          .unfitDestination,
          "the list has a field \(content.fileField), the column for the files of \(content.field)")
      }
    }
  }
}
