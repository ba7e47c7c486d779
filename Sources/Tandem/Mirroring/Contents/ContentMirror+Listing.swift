internal import Synchronization
public import TandemMirror
public import TandemRecords
internal import TandemSQLite
internal import TandemTransports

extension ContentMirror {
  /// Finds out what is there, and removes files that nobody knows.
  public func begin() async throws {
    lastOutcome.withLock { $0 = nil }
    lastRehearsal.withLock { $0 = nil }
    let rows = try await database.files()
    var run = ContentRun()
    run.files = Dictionary(rows.map { ($0.key, $0.files) }, uniquingKeysWith: { $1 })
    for (position, store) in stores.enumerated() {
      let pointed = rows.compactMap { fileName($0.files[position], of: contents[position]) }
      try store.sweep(keeping: store.knownNames.union(pointed))
    }
    state.withLock { [run] in $0 = run }
  }

  /// The list; if the server says that it did not change, the items that are there.
  public func source() async throws -> MirrorPages<MirroredItem> {
    var options = listOptions
    options.validators = try await validators()
    var answer = try await source.list(options, client: client, progress: received)
    if case .notModified = answer, try await validators() != options.validators {
      // The table or a file was changed while the server was asked.
      options.validators = nil
      answer = try await source.list(options, client: client, progress: received)
    }
    switch answer {
    case .notModified:
      let keys = state.withLock { state in
        state.isUnmodified = true
        return Array(state.files.keys)
      }
      return MirrorPages(keys.map { MirroredItem(id: $0, record: [:]) })
    case .records(let records, let validators):
      return MirrorPages(try await items(records, validators))
    }
  }

  /// What to ask for the list by; nothing if a file is missing, which only the list can bring back.
  private func validators() async throws -> HTTPValidators? {
    guard isConditional, case .url(let url) = source else { return nil }
    let files = state.withLock { $0.files.values }
    guard files.allSatisfy({ areThere($0) }) else { return nil }
    return try await database.validators(for: url)
  }

  private func items(
    _ records: [Record], _ validators: HTTPValidators
  ) async throws -> [MirroredItem] {
    let keys = try await database.keys(of: records)
    let files = state.withLock { $0.files }
    try requireFreeFields(records)
    let extended = RecordExtension(contents)
    var items: [MirroredItem] = []
    for (key, record) in zip(keys, records) {
      items.append(
        MirroredItem(id: key, record: try extended.record(record, files: files[key] ?? [])))
    }
    let difference = try await database.difference(to: items.map(\.record))
    let rowKeys = try await database.keys(of: difference.updated.map(\.new) + difference.deleted)
    state.withLock { state in
      state.items = items
      state.validators = validators
      let updatedCount = difference.updated.count
      for (key, update) in zip(rowKeys, difference.updated) { state.oldRows[key] = update.old }
      for (key, row) in zip(rowKeys[updatedCount...], difference.deleted) {
        state.deletedRows.append((key, row))
      }
    }
    return items
  }

  /// Throws if the list has a field that is to be that of a file.
  private func requireFreeFields(_ records: [Record]) throws(MirrorError) {
    var last: RecordLayout?
    for record in records where record.layout !== last {
      last = record.layout
      for content in contents {
        guard record.layout.names.contains(where: content.fileField.isSameSQLName) else { continue }
        throw MirrorError(
          .unfitDestination,
          "the list has a field \(content.fileField), the column for the files of \(content.field)")
      }
    }
  }

  /// The keys of the rows that are there.
  public func localIDs() async throws -> MirrorPages<RecordKey> {
    MirrorPages(state.withLock { Array($0.files.keys) })
  }

  /// The items whose record differs from their row, or a file of which is missing.
  public func itemsToUpdate(among items: [MirroredItem]) async throws -> Set<RecordKey> {
    let (oldRows, files, isUnmodified) = state.withLock { ($0.oldRows, $0.files, $0.isUnmodified) }
    if isUnmodified { return [] }
    return Set(
      items.filter { item in
        oldRows[item.id] != nil || !areThere(files[item.id] ?? [])
          || zip(contents, files[item.id] ?? []).contains { content, file in
            file == nil && !item.record[content.field].isNull
          }
      }.map(\.id))
  }
}
