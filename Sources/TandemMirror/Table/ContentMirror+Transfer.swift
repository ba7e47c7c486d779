internal import Synchronization
internal import TandemDigests
internal import TandemHTTP
public import TandemRecords
internal import TandemSQLite

extension ContentMirror {
  /// As many as the limit for open files allows.
  public var maxTransferCount: Int { FileStore.maxTransferCount }

  /// Notes that the run got so far, and which items are to be transferred; from here on the
  /// directory is this mirror's.
  public func prepare(_ items: [MirroredItem]) async throws -> [MirroredItem] {
    if !isDryRun {
      try await markDirectory { try unsettle(items) }
    }
    state.withLock { state in
      state.isPlanned = true
      state.plannedIDs = Set(items.map(\.id))
    }
    return items
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
    let (url, fields) = target(of: address, relativeTo: item.base)
    return FileRequest(
      FileName(item.id, url: url), url: url, fields: fields,
      sha256: try digest(of: item, content), byteCount: try byteCount(of: item, content),
      maxByteCount: content.maxByteCount)
  }

  /// The address that one in the list means, and the fields to send there: those of the list, to its own
  /// server. What is relative is so to where redirects led for the item's page.
  private func target(
    of address: String, relativeTo base: String?
  ) -> (url: String, fields: HTTPFields) {
    guard case .url(let typed) = source else { return (address, [:]) }
    let resolved = HTTPURL.resolved(address, against: base ?? typed)
    // An address that is absolute takes nothing but credentials, if it is of the server they are for.
    let url = HTTPURL.resolved(resolved, against: typed)
    return (url, HTTPURL.haveSameOrigin(url, typed) ? listOptions.fields : [:])
  }

  private func digest(of item: MirroredItem, _ content: MirroredContent) throws -> SHA256Digest? {
    guard let field = content.digestField, let value = try check(field, of: item) else {
      return nil
    }
    guard let digest = value.textValue.flatMap({ SHA256Digest(hexadecimal: $0) }) else {
      throw MirrorError(
        .unfitSource, "the field \(field) holds no SHA-256 in 64 hexadecimal digits")
    }
    return digest
  }

  private func byteCount(of item: MirroredItem, _ content: MirroredContent) throws -> Int? {
    guard let field = content.byteCountField, let value = try check(field, of: item) else {
      return nil
    }
    guard case .integer(let count) = value, count >= 0 else {
      throw MirrorError(.unfitSource, "the field \(field) holds no number of bytes")
    }
    return Int(count)
  }

  /// What an item's content is to be checked by; `nil` if the list says so.
  private func check(_ field: String, of item: MirroredItem) throws(MirrorError) -> FieldValue? {
    guard item.record.layout.offset(of: field) != nil else {
      throw MirrorError(
        .unfitSource,
        "it has no field \(field) to check its content by; it may be null, but not missing")
    }
    return item.record[field].isNull ? nil : item.record[field]
  }

  /// Notes which rows are to be removed: with their files, at the end.
  public func remove(_ ids: [RecordKey]) async throws {
    state.withLock { $0.removedIDs.formUnion(ids) }
  }
}
