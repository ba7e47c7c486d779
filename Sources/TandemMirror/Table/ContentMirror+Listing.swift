internal import Synchronization
internal import TandemDifferences
public import TandemRecords
internal import TandemSQLite

extension ContentMirror {
  /// Finds out what is there; throws if the directory is another mirror's, or has files of others, or if
  /// rows have files that the run would forget.
  public func begin() async throws {
    result.withLock { $0 = ContentResult() }
    try await database.requireContents()
    let unchecked = try await openFolders()
    let rows = try await database.files()
    var run = ContentRun()
    run.files = Dictionary(rows.map { ($0.key, $0.files) }, uniquingKeysWith: { $1 })
    run.unsettled = try files.map { try $0.unsettledNames() }
    for position in unchecked {
      run.unsettled[position].formUnion(
        rows.compactMap { fileName($0.files[position], of: contents[position]) })
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
      return MirrorPages(keys.map { MirroredItem(id: $0, record: [:], base: nil) })
    case .records(let records, let validators, let bases):
      return MirrorPages(try await items(records, validators, bases))
    }
  }

  /// What to ask for the list by; nothing if a file is missing, or may not be that of its row, which
  /// only the list can mend.
  private func validators() async throws -> RecordListValidators? {
    guard isConditional, case .url(let url) = source else { return nil }
    let run = state.withLock { $0 }
    guard run.unsettled.allSatisfy(\.isEmpty), run.files.values.allSatisfy({ areThere($0) })
    else { return nil }
    return try await database.validators(for: url, listOptions)
  }

  private func items(
    _ records: [Record], _ validators: RecordListValidators, _ bases: RecordBases
  ) async throws -> [MirroredItem] {
    try requireNamedFields(records)
    let keys = try await database.keys(of: records)
    let files = state.withLock { $0.files }
    try requireFreeFields(records)
    let extended = RecordExtension(contents)
    var items: [MirroredItem] = []
    for (position, (key, record)) in zip(keys, records).enumerated() {
      let record = try extended.record(record, files: files[key] ?? [])
      items.append(MirroredItem(id: key, record: record, base: bases[position]))
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

  /// Throws if no record has a field that contents are to be had by: it is another list, or one whose
  /// fields have got other names, or the name was misspelt.
  private func requireNamedFields(_ records: [Record]) throws(MirrorError) {
    var seen = Set<ObjectIdentifier>()
    var layouts: [RecordLayout] = []
    for record in records where seen.insert(ObjectIdentifier(record.layout)).inserted {
      layouts.append(record.layout)
    }
    let fields = contents.flatMap { [$0.field, $0.digestField, $0.byteCountField] }
    for case let field? in fields {
      guard layouts.allSatisfy({ $0.offset(of: field) == nil }), !layouts.isEmpty else { continue }
      throw MirrorError(
        .unfitSource,
        "no record of the list has the field \(field); its fields are \(Self.names(in: layouts))")
    }
  }

  /// How many fields an error names at most.
  private static let maxNamedFieldCount = 20

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

  /// The items whose record differs from their row, or a file of which is missing, or may have been
  /// replaced by a run that did not get to its end.
  public func itemsToUpdate(among items: [MirroredItem]) async throws -> Set<RecordKey> {
    let run = state.withLock { $0 }
    if run.isUnmodified { return [] }
    return Set(
      items.filter { item in
        let files = run.files[item.id] ?? []
        return run.oldRows[item.id] != nil || !areThere(files) || !areSettled(files, run)
          || zip(contents, files).contains { content, file in
            file == nil && content.isNamed(by: item.record)
          }
      }.map(\.id))
  }

  /// How many of the items have a file, and name no content any more.
  public func lossCount(among items: [MirroredItem]) async throws -> Int {
    let run = state.withLock { $0 }
    return items.count { item in
      zip(contents, run.files[item.id] ?? []).contains { content, file in
        file != nil && !content.isNamed(by: item.record)
      }
    }
  }

  private func areSettled(_ paths: [String?], _ run: ContentRun) -> Bool {
    names(paths).allSatisfy { !run.unsettled[$0.position].contains($0.name) }
  }
}
