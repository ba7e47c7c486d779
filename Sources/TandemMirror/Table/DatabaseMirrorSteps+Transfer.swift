internal import Synchronization
internal import TandemDigests
internal import TandemHTTP
internal import TandemRecords

extension DatabaseMirrorSteps {
  /// Makes the directory this mirror's, and notes which files may be replaced: if the run is killed, the next
  /// one has to check them.
  func prepare(_ items: [MirroredItem]) async throws -> [MirroredItem] {
    if !mirror.isDryRun, !contents.isEmpty {
      try await claimDirectory { try markDirty(items) }
    }
    state.withLock { $0.transfers.isPrepared = true }
    return items
  }

  private func markDirty(_ items: [MirroredItem]) throws {
    let dirty = state.withLock { state in
      for item in items {
        for (position, name) in names(state.files[item.id] ?? []) {
          state.dirty[position].insert(name)
        }
      }
      return state.dirty
    }
    for (store, names) in zip(stores, dirty) { try store.setDirty(names) }
  }

  /// Puts one content of an item into its file.
  func transfer(
    _ item: MirroredItem, in stage: MirrorStage, progress: MirrorTransferProgress
  ) async throws {
    guard let position = contents.firstIndex(where: { $0.stage == stage }) else { return }
    let request = try request(for: item, contents[position])
    if let request {
      _ = try await stores[position].transfer(
        request, client: requiredClient(), received: { progress.add(byteCount: $0) })
    }
    add(request, at: position, of: item.id)
  }

  /// Notes that a content has been transferred, or would be in a dry run.
  func add(_ request: FileRequest?, at position: Int, of id: RecordKey) {
    let content = contents[position]
    let path = request.map { content.path($0.name) }
    state.withLock { state in
      state.transfers.add(path, at: position, of: id)
      guard let request, let path else { return }
      let url = RecordSource.url(request.url).description
      state.report.contents.append(.init(id: id, stage: content.stage, url: url, path: path))
    }
  }

  /// Notes the rows to delete, which the commit does.
  func remove(_ ids: [RecordKey]) async throws {
    state.withLock { $0.transfers.removedIDs.formUnion(ids) }
  }
}

// MARK: - Requests

extension DatabaseMirrorSteps {
  /// The request for a content of an item; `nil` if the item has no such content.
  func request(for item: MirroredItem, _ content: MirroredContent) throws -> FileRequest? {
    guard content.isNamed(by: item.record) else { return nil }
    guard let address = item.record[content.field].textValue else {
      throw TransportError(
        .invalidURL, "the field \(content.field) holds no address",
        url: "\(item.record[content.field])")
    }
    let (url, fields) = target(of: address, relativeTo: item.base)
    var request = FileRequest(
      FileName(item.id, url: url), url: url, fields: fields,
      sha256: try digest(of: item, content), byteCount: try byteCount(of: item, content),
      maxByteCount: content.maxByteCount)
    request.maxDecompressedByteCount = content.maxDecompressedByteCount
    request.isConditional = isConditional
    return request
  }

  /// The URL of an address in the list, and the fields to send there: those of the list, to its own server.
  /// A relative address is relative to the page of its item, after redirects.
  private func target(
    of address: String, relativeTo base: String?
  ) -> (url: String, fields: HTTPFields) {
    guard case .url(let typed) = source else { return (address, [:]) }
    let (page, list) = state.withLock { state in
      (state.base(base ?? typed), state.base(typed))
    }
    // An absolute address takes nothing but credentials, and only those of its own server.
    let (url, isOwn) = HTTPURL.target(of: address, at: page, owner: list)
    return (url, isOwn ? listOptions.fields : [:])
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

  /// The value that an item's content is checked by; `nil` if the list has null there.
  private func check(_ field: String, of item: MirroredItem) throws(MirrorError) -> FieldValue? {
    guard item.record.layout.offset(of: field) != nil else {
      throw MirrorError(
        .unfitSource,
        "it has no field \(field) to check its content by; it may be null, but not missing")
    }
    return item.record[field].isNull ? nil : item.record[field]
  }
}
