import Tandem

extension MergeCommand {
  /// The versions to merge, as bytes.
  struct Versions {
    /// The version that both sides started from; `nil` if it is unknown.
    var base: [UInt8]?
    var local: [UInt8]
    var remote: [UInt8]
  }

  /// The result of a merge.
  enum Result {
    case list(MergedList)
    /// A merge by lines, with the reason why it is not one of records.
    case text(MergedText, reason: String)

    /// True if nothing is in conflict, or the options resolved all conflicts.
    var isResolved: Bool {
      switch self {
      case .list(let list): return list.isResolved
      case .text(let text, _): return text.isResolved
      }
    }
  }
}

// MARK: - Reading

extension MergeCommand.Options {
  /// The name of the merged list in messages.
  var name: String { path ?? output ?? RecordSource(local).description }

  /// Reads all versions.
  func versions() async throws -> MergeCommand.Versions {
    var versions = MergeCommand.Versions(local: try await bytes(of: local), remote: [])
    versions.remote = try await bytes(of: remote)
    if let base { versions.base = try await bytes(of: base) }
    return versions
  }

  private func bytes(of name: String) async throws -> [UInt8] {
    if let source = sources[name], case .url = source {
      let text = try await request.text(of: source).bytes
      guard let encoded = csv.encoding.bytes(of: text, like: text) else {
        throw FileError(
          path: source.description, action: "merged",
          reason: "it has characters that --encoding has not")
      }
      return encoded
    }
    let bytes = try FileText.bytes(of: name)
    let reason: String
    if SQLiteFile.isBegun(by: bytes) {
      reason = "it is a SQLite database, not a list"
    } else if GzipDecoder.isGzip(bytes) {
      // A merged list has the form of the local one, and is written in its place.
      reason = "it is in gzip, which merge does not write; decompress it first"
    } else {
      return bytes
    }
    throw FileError(
      path: path ?? RecordSource(name).description, action: "merged", reason: reason)
  }

  /// Merges the versions by records, or else, as a git merge driver, by lines.
  func merge(_ versions: MergeCommand.Versions) throws -> MergeCommand.Result {
    do {
      let merged = try mergeLists(versions)
      guard merged.hasOpenColumns, !printsJSON else { return .list(merged) }
      let texts = try utf8(versions)
      var text = try MergedText(texts, path: name)
      // One side changed the lines of all records, and the other side one of them at least.
      text.columns = merged.columnConflicts
      return .text(text, reason: "a column is in conflict")
    } catch let error as SourceError where path != nil && !printsJSON {
      return .text(
        try MergedText(versions, path: name), reason: "\(error)")
    }
  }

  /// The versions of CSV in UTF-8.
  private func utf8(_ versions: MergeCommand.Versions) throws -> MergeCommand.Versions {
    func utf8(_ bytes: [UInt8]) throws -> [UInt8] { try csv.encoding.utf8(bytes) }
    return try MergeCommand.Versions(
      base: versions.base.map(utf8), local: utf8(versions.local), remote: utf8(versions.remote))
  }

  private func mergeLists(_ versions: MergeCommand.Versions) throws -> MergedList {
    // For a file that both sides added, git passes an empty base.
    let base = try versions.base.map { try baseList($0) }
    let local = try list(versions.local, self.local, "local")
    let remote = try list(versions.remote, self.remote, "remote")
    try checkTextFields(of: [base, local, remote].compactMap { $0 })
    let merge = ListMerge(key: key, policy: policy, columnPolicy: columnPolicy)
    do {
      return try merge.merge(base: base, local: local, remote: remote)
    } catch let error as RecordMergeError {
      let names: [MergeError.Side: String] = [
        .base: self.base ?? "", .local: self.local, .remote: self.remote,
      ]
      let name = names[error.side] ?? ""
      throw SourceError(source: source(name, error.side.rawValue), error: error.error)
    }
  }

  /// The base. For branches that were merged into each other before, git merges their bases first, and passes
  /// the result, which may have conflicts.
  private func baseList(_ bytes: [UInt8]) throws -> ListText {
    func list(_ bytes: [UInt8]) throws -> ListText {
      try self.list(bytes, base ?? "", "base", mayBeEmpty: true)
    }
    guard path != nil, let resolutions = ConflictMarkers.resolutions(of: bytes) else {
      return try list(bytes)
    }
    let lists = try resolutions.map(list)
    return lists.dropFirst().reduce(lists[0]) { $0.merged(unresolvedWith: $1, key: key) }
  }

  private func list(
    _ bytes: [UInt8], _ name: String, _ side: String, mayBeEmpty: Bool = false
  ) throws -> ListText {
    var named = RecordFormat(fileName: path ?? name)
    if case .url = RecordSource(name) { named = nil }
    let format = self.format ?? named ?? RecordFormat.sniffed(from: bytes)
    if mayBeEmpty, bytes.isEmpty { return ListText(emptyOf: format, csv: csv) }
    // NDJSON without a line is a list. As a git merge driver, another empty file is merged by lines.
    guard !bytes.isEmpty || format == .ndjson || path != nil else {
      throw FileError(
        path: RecordSource(name).description, action: "merged",
        reason:
          "it is empty, which only the base may be; a list without records is [] in JSON, and "
          + "a line of field names in CSV")
    }
    do throws(RecordError) {
      return try ListText(bytes, format: format, csv: csv)
    } catch {
      throw SourceError(source: source(name, side), error: error)
    }
  }

  /// The name of a version in messages: the file of `--path`, because git passes temporary files.
  private func source(_ name: String, _ side: String) -> RecordSource {
    if let path { return .file("\(path) (\(side) version)") }
    return RecordSource(name)
  }

  /// Rejects the name of a text field that no record has. As a git merge driver it does not, because
  /// the driver is configured for many files, and some may not have the field.
  private func checkTextFields(of lists: [ListText]) throws(UsageError) {
    guard path == nil, !textFields.isEmpty else { return }
    var names: Set<FieldName> = []
    var lastLayout: RecordLayout?
    for record in lists.flatMap(\.records) where record.layout !== lastLayout {
      names.formUnion(record.fieldNames)
      lastLayout = record.layout
    }
    guard !names.isEmpty, let unknown = textFields.first(where: { !names.contains($0) }) else {
      return
    }
    let texts = names.map(\.text).sorted()
    let hint =
      Spelling.closest(to: unknown.text, among: texts).map { "did you mean \($0)?" }
      ?? "there are \(texts.joined(separator: ", "))"
    throw UsageError(
      "--text: no record has a field \(unknown); \(hint)", command: MergeCommand.specification)
  }
}
