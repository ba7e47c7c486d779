internal import Synchronization
public import TandemRecords
internal import TandemSQLite

extension ContentMirror {
  /// Writes the rows, if the run went through; removes the files that none points to any more, if
  /// nothing failed.
  public func end(_ report: MirrorReport<RecordKey>) async throws {
    defer { closeFolders() }
    let run = state.withLock { state in
      defer { state = ContentRun() }
      return state
    }
    result.withLock { $0.contentCount = run.contentCount }
    guard report.interruption == nil, run.isPlanned else { return }
    if run.isUnmodified { return try removeUnknownFiles(run) }
    if isDryRun { return try await rehearse(run) }
    let records = try finalRecords(run)
    var origin: MirrorOrigin?
    // What failed is to be asked for again, even if the list does not change.
    if case .url(let url) = source, report.isComplete {
      origin = MirrorOrigin(
        url: url, options: listOptions, contents: contents, validators: run.validators)
    }
    let outcome = try await database.commit(records, origin: origin)
    result.withLock { $0.outcome = outcome }
    try settle(records, run)
    if report.isComplete { try removeOldFiles(records) }
  }

  /// Notes that files are those of their rows, but for those of rows that stayed as they were.
  private func settle(_ records: [Record], _ run: ContentRun) throws {
    var arrived = contents.map { _ in Set<FileName>() }
    for item in run.items where isWanted(item, run) {
      let paths = contents.indices.map { run.transferred[item.id]?[$0] ?? nil }
      for (position, name) in names(paths) { arrived[position].insert(name) }
    }
    for (position, store) in stores.enumerated() {
      let pointed = pointedNames(records, contents[position])
      let unsettled = run.unsettled[position].intersection(pointed)
      try store.setUnsettled(unsettled.subtracting(arrived[position]))
    }
  }

  /// The records of the rows as they shall be.
  func finalRecords(_ run: ContentRun) throws -> [Record] {
    let extended = RecordExtension(contents)
    var records: [Record] = []
    for item in run.items {
      let old = run.files[item.id]
      if !run.plannedIDs.contains(item.id) {
        records.append(item.record)
      } else if isWanted(item, run) {
        records.append(try extended.record(item.record, files: newFiles(of: item, run)))
      } else if let old {
        let row = run.oldRows[item.id] ?? item.record
        let files = zip(old, contents.indices).map { isThere($0, at: $1) ? $0 : nil }
        records.append(try extended.record(row, files: files))
      }
    }
    for (key, row) in run.deletedRows where !run.removedIDs.contains(key) { records.append(row) }
    return records
  }

  /// Whether all that an item must have has been transferred.
  private func isWanted(_ item: MirroredItem, _ run: ContentRun) -> Bool {
    contents.indices.allSatisfy {
      !contents[$0].isRequired || run.transferred[item.id]?[$0] != nil
    }
  }

  /// The files of an item; for a content that could not be had, the one it had before.
  private func newFiles(of item: MirroredItem, _ run: ContentRun) -> [String?] {
    contents.indices.map { position in
      if let path = run.transferred[item.id]?[position] { return path }
      let old = run.files[item.id]?[position]
      return isThere(old, at: position) ? old : nil
    }
  }

  /// The files of a content that records point to.
  func pointedNames(_ records: [Record], _ content: MirroredContent) -> Set<FileName> {
    Set(records.compactMap { fileName($0[content.fileField].textValue, of: content) })
  }

  /// Removes what a run that was killed may have left, although the list is the same.
  private func removeUnknownFiles(_ run: ContentRun) throws {
    var pointed = contents.map { _ in Set<FileName>() }
    for paths in run.files.values {
      for (position, name) in names(paths) { pointed[position].insert(name) }
    }
    for (store, kept) in zip(stores, pointed) { try store.sweep(keeping: kept) }
  }

  /// Removes the files that no row points to, and what arrived of others: of a run in which all went
  /// well, there is nothing to be gone on with.
  private func removeOldFiles(_ records: [Record]) throws {
    for (store, content) in zip(stores, contents) {
      try store.sweep(keeping: pointedNames(records, content))
      try store.discardPartialFiles()
    }
  }
}
