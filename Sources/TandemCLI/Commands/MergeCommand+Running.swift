import Tandem

extension MergeCommand {
  /// The versions to merge.
  struct Versions {
    /// The version that both sides started from; `nil` if it is unknown.
    var base: ListText?
    var local: ListText
    var remote: ListText

    /// The fields that records have, in one version at least.
    var fieldNames: Set<FieldName> {
      var names: Set<FieldName> = []
      var lastLayout: RecordLayout?
      for version in [base, local, remote] {
        for record in version?.records ?? [] where record.layout !== lastLayout {
          names.formUnion(record.layout.names.map { FieldName($0) })
          lastLayout = record.layout
        }
      }
      return names
    }
  }
}

extension MergeCommand.Options {
  /// Reads all versions.
  func versions() throws -> MergeCommand.Versions {
    var versions = try MergeCommand.Versions(
      base: base.map { try version($0, mayBeEmpty: true) }, local: version(local),
      remote: version(remote))
    try checkTextFields(of: versions)
    let texts = (versions.base?.textFields ?? []).union(versions.local.textFields)
      .union(versions.remote.textFields)
    versions.base?.makeTexts(in: texts)
    versions.local.makeTexts(in: texts)
    versions.remote.makeTexts(in: texts)
    return versions
  }

  /// Rejects the name of a text field that no record has. As a git merge driver it does not, because
  /// the driver is configured for many files, and some may not have the field.
  private func checkTextFields(of versions: MergeCommand.Versions) throws(UsageError) {
    let names = versions.fieldNames
    guard path == nil, !names.isEmpty,
      let unknown = textFields.first(where: { !names.contains($0) })
    else {
      return
    }
    let texts = names.map(\.text).sorted()
    let hint =
      Spelling.closest(to: unknown.text, among: texts).map { "did you mean \($0)?" }
      ?? "there are \(texts.joined(separator: ", "))"
    throw UsageError(
      "--text: no record has a field \(unknown); \(hint)", command: MergeCommand.specification)
  }

  /// Reads one version. For a file that both sides added, git passes an empty base.
  private func version(_ name: String, mayBeEmpty: Bool = false) throws -> ListText {
    let text = try FileText.bytes(of: name)
    let format =
      self.format ?? RecordFormat(fileName: path ?? name) ?? RecordFormat.sniffed(from: text)
    guard !SQLiteFile.isBegun(by: text) else {
      throw FileError(path: name, action: "merged", reason: "it is a SQLite database, not a list")
    }
    if mayBeEmpty, text.isEmpty { return ListText(emptyOf: format) }
    do throws(RecordError) {
      return try ListText(text, format: format)
    } catch {
      throw SourceError(source: name == "-" ? .standardInput : .file(name), error: error)
    }
  }

  /// Merges the versions.
  func merge(_ versions: MergeCommand.Versions) throws -> ThreeWayMerge<Record, RecordKey> {
    do {
      return try RecordMerge(key: key, policy: policy).merge(
        base: versions.base.map { .known($0.records) } ?? .unknown,
        local: versions.local.records, remote: versions.remote.records)
    } catch let error as RecordMergeError {
      let name = error.side == .base ? base ?? "" : error.side == .local ? local : remote
      throw SourceError(source: RecordSource(name), error: error.error)
    }
  }

  /// Returns the merged list as a text in the format of the local version.
  func listText(
    _ merge: ThreeWayMerge<Record, RecordKey>, _ versions: MergeCommand.Versions
  ) -> [UInt8] {
    versions.local.text(of: merge.merged, key: key, other: versions.remote)
  }

  /// Reports the merge on standard error.
  func report(_ merge: ThreeWayMerge<Record, RecordKey>) {
    var lines = [
      "\(path ?? output ?? local): to local \(merge.toLocal.summary); "
        + "to remote \(merge.toRemote.summary); "
        + "\(Quantity.count(merge.conflicts.count, "conflict")), "
        + "\(merge.unresolved.count) unresolved"
    ]
    for report in merge.conflicts {
      let fields = zip(key, report.id.values).map { "\($0)=\($1)" }.joined(separator: " ")
      lines.append("! \(report.conflict.kind.rawValue) \(fields): \(report.resolution.name)")
    }
    TandemCLI.report(lines.joined(separator: "\n"))
  }
}

extension ThreeWayMerge<Record, RecordKey> {
  /// Appends the object that `--json` prints, with its line feed.
  func appendJSON(to bytes: inout [UInt8]) {
    bytes.appendJSON { json in
      json.object { json in
        json.field("merged", merged)
        json.field("conflicts") { $0.array(of: conflicts) { $0.write(to: &$1) } }
        json.field("toLocal", toLocal)
        json.field("toRemote", toRemote)
      }
    }
    bytes.append(UInt8(ascii: "\n"))
  }
}

extension ConflictReport<Record, RecordKey> {
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("key") { json in
        if id.values.count == 1 { json.write(id.values[0]) } else { json.write(id.values) }
      }
      json.field("kind", conflict.kind.rawValue)
      json.field("base", conflict.base)
      json.field("local", conflict.local)
      json.field("remote", conflict.remote)
      json.field("resolution", resolution.name)
    }
  }
}

extension MergeResolution {
  /// The name of the resolution.
  fileprivate var name: String {
    switch self {
    case .local: return "local"
    case .remote: return "remote"
    case .merged, .deleted: return "merged"
    case .unresolved: return "unresolved"
    }
  }
}
