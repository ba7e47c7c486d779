internal import Synchronization
public import TandemMirror
public import TandemRecords
internal import TandemSQLite
internal import TandemTransports

extension ContentMirror {
  /// Notes that the run got so far, and which items are to be transferred; from here on the
  /// directory is this mirror's.
  public func prepare(_ items: [MirroredItem]) async throws -> [MirroredItem] {
    if !isDryRun {
      try await claimDirectories()
      try unsettle(items)
    }
    state.withLock { state in
      state.isPlanned = true
      state.plannedIDs = Set(items.map(\.id))
    }
    return items
  }

  /// Makes the directories this mirror's, in the database first.
  private func claimDirectories() async throws {
    for (content, store) in zip(contents, stores) {
      if try store.files.isClaimed(by: try await database.owner(of: content)) { continue }
      try store.claim(for: try await database.makeOwner(of: content))
    }
  }

  /// Notes, before the first file is replaced, which may not be those of their rows until these are
  /// written: a run that is killed cannot say it later.
  private func unsettle(_ items: [MirroredItem]) throws {
    let unsettled = state.withLock { state in
      for item in items {
        for (position, name) in names(state.files[item.id] ?? []) {
          state.unsettled[position].insert(name)
        }
      }
      return state.unsettled
    }
    for (store, names) in zip(stores, unsettled) { try store.setUnsettled(names) }
  }

  /// Puts one content of an item into its file.
  public func transfer(
    _ item: MirroredItem, in stage: MirrorStage, progress: MirrorTransferProgress
  ) async throws {
    guard !isDryRun, let position = contents.firstIndex(where: { $0.stage == stage }) else {
      return
    }
    guard let request = try request(for: item, contents[position]) else {
      return state.withLock { $0.note(nil, at: position, of: item.id) }
    }
    _ = try await stores[position].transfer(
      request, client: client, received: { progress.add(byteCount: $0) })
    let path = contents[position].path(request.name)
    state.withLock { $0.note(path, at: position, of: item.id) }
  }

  /// What to ask for; `nil` if the item has no such content.
  func request(
    for item: MirroredItem, _ content: MirroredContent
  ) throws -> FileRequest? {
    guard content.isNamed(by: item.record) else { return nil }
    guard let address = item.record[content.field].textValue else {
      throw TransportError(
        .invalidURL, "the field \(content.field) holds no address",
        url: "\(item.record[content.field])")
    }
    var url = address
    var fields: HTTPFields = [:]
    if case .url(let base) = source {
      url = HTTPRequest.url(address, relativeTo: base)
      if HTTPRequest.haveSameOrigin(url, base) { fields = listOptions.fields }
    }
    return FileRequest(
      FileName(item.id, url: url), url: url, fields: fields,
      sha256: try digest(of: item, content), byteCount: try byteCount(of: item, content),
      maxByteCount: content.maxByteCount)
  }

  private func digest(of item: MirroredItem, _ content: MirroredContent) throws -> SHA256Digest? {
    guard let field = content.digestField, !item.record[field].isNull else { return nil }
    guard let digest = item.record[field].textValue.flatMap({ SHA256Digest(hexadecimal: $0) })
    else {
      throw TransportError(
        .contentMismatch, "the field \(field) holds no SHA-256 in 64 hexadecimal digits",
        url: "\(item.id)")
    }
    return digest
  }

  private func byteCount(of item: MirroredItem, _ content: MirroredContent) throws -> Int? {
    guard let field = content.byteCountField, !item.record[field].isNull else { return nil }
    guard case .integer(let count) = item.record[field], count >= 0 else {
      throw TransportError(
        .contentMismatch, "the field \(field) holds no number of bytes", url: "\(item.id)")
    }
    return Int(count)
  }

  /// Notes which rows are to be removed: with their files, at the end.
  public func remove(_ ids: [RecordKey]) async throws {
    state.withLock { $0.removedIDs.formUnion(ids) }
  }
}
