import Tandem

extension MergeCommand.Options {
  /// Writes the merged list, or the object of `--json`. A file of conflicts is written first, so that
  /// no version is lost if the merged list cannot be written.
  func write(_ result: MergeCommand.Result, of versions: MergeCommand.Versions) throws {
    if conflictForm == .file, !result.isResolved {
      try AtomicFile.write(result.conflictsJSON(key: key), to: conflictsPath)
    }
    if let output { try AtomicFile.write(text(of: result, versions), to: output) }
    let stream = OutputStream(descriptor: STDOUT_FILENO)
    if printsJSON, case .list(let list) = result {
      try stream.write { list.appendJSON(to: &$0, key: key) }
    } else if output == nil {
      let text = try text(of: result, versions)
      try stream.write { $0 += text }
    }
    try stream.flush()
  }

  /// The file for the conflicts.
  private var conflictsPath: String { "\(name).conflicts.json" }

  private func text(
    of result: MergeCommand.Result, _ versions: MergeCommand.Versions
  ) throws -> [UInt8] {
    let style = conflictForm == .markers && !result.isResolved ? markerStyle : nil
    let bytes: [UInt8]
    switch result {
    case .list(let list) where list.hasOpenColumns: return versions.local
    case .list(let list):
      bytes = list.text(
        marksConflicts: style != nil, showsBase: style == .diff3 || style == .zdiff3)
    case .text(let text, _):
      guard !text.columns.isEmpty else { return text.bytes(style) }
      guard let style else { return versions.local }
      bytes = text.bytes(style)
    }
    guard let encoded = csv.encoding.bytes(of: bytes, like: versions.local) else {
      throw FileError(
        path: name, action: "written",
        reason: "a character of the other version is not in \(csv.encoding.rawValue)")
    }
    return encoded
  }

  /// The form of the markers: as a git merge driver, that of git.
  private var markerStyle: ConflictMarkers.Style {
    path == nil ? .merge : ConflictMarkers.configuredStyle()
  }

  /// Reports the merge on standard error.
  func report(_ result: MergeCommand.Result) {
    switch result {
    case .list(let list): TandemCLI.report(list.report(name, key: key))
    case .text(let text, let reason):
      var lines = [
        "\(name): not merged by records: \(reason); "
          + "\(Quantity.count(text.conflicts.count, "unresolved conflict"))"
      ]
      lines += text.columns.flatMap(\.lines)
      TandemCLI.report(lines.joined(separator: "\n"))
    }
    if conflictForm == .file, !result.isResolved {
      TandemCLI.report("both versions of each unresolved conflict are in \(conflictsPath)")
    }
  }
}

extension MergedList {
  /// A line with the numbers of changes, and for each conflict a line and its two versions.
  fileprivate func report(_ name: String, key: [String]) -> String {
    var lines = [
      "\(name): to local \(merge.toLocal.summary); to remote \(merge.toRemote.summary); "
        + "\(Quantity.count(merge.conflicts.count, "conflict")), "
        + "\(merge.unresolved.count) unresolved"
    ]
    lines += notes + columnConflicts.flatMap(\.lines)
    let text = DifferenceText(key: [], terminal: .error)
    for report in merge.conflicts {
      let conflict = report.conflict
      let record = conflict.local ?? conflict.remote
      let fields = key.map { "\($0)=\(record?[$0]?.description ?? "null")" }
        .joined(separator: " ")
      lines.append("! \(conflict.kind.rawValue) \(fields): \(report.resolution.name)")
      lines.append("  local   \(text.fields(of: conflict.local, unlike: conflict.remote))")
      lines.append("  remote  \(text.fields(of: conflict.remote, unlike: conflict.local))")
    }
    return lines.joined(separator: "\n")
  }

  /// Sentences on what both versions changed that is no conflict of records.
  fileprivate var notes: [String] {
    var notes: [String] = []
    if hasDisputedOrder {
      notes.append(
        "both versions changed the order of the records; the merged list has that of remote")
    }
    if hasDisputedComments {
      notes.append(
        "both versions changed the same comment lines; except between conflict markers, the merged list "
          + "has those of local")
    }
    if hasLostComments {
      notes.append(
        "one version changed comment lines above records that the other one deleted; the merged list "
          + "lacks them")
    }
    return notes
  }

  /// Appends the object that `--json` prints, with its line feed.
  fileprivate func appendJSON(to bytes: inout [UInt8], key: [String]) {
    bytes.appendJSON { json in
      json.object { json in
        json.field("merged", merge.merged)
        json.field("conflicts") { $0.array(of: merge.conflicts) { $0.write(to: &$1, key: key) } }
        json.field("columns") { $0.array(of: columnConflicts) { $0.write(to: &$1) } }
        json.field("notes", notes)
        json.field("toLocal", merge.toLocal)
        json.field("toRemote", merge.toRemote)
      }
    }
    bytes.append(UInt8(ascii: "\n"))
  }
}

extension MergeCommand.Result {
  /// The unresolved conflicts as an array, with both versions of each.
  fileprivate func conflictsJSON(key: [String]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.appendJSON { json in
      json.array { json in
        switch self {
        case .list(let list):
          for report in list.merge.unresolved { report.write(to: &json, key: key) }
        case .text(let text, _):
          for report in text.columns { report.write(to: &json) }
          for conflict in text.conflicts {
            json.object { json in
              json.field("base", conflict.base)
              json.field("local", conflict.local)
              json.field("remote", conflict.remote)
            }
          }
        }
      }
    }
    return bytes + [UInt8(ascii: "\n")]
  }
}

extension ConflictReport where Element: JSONWritable {
  /// Writes an object with a field of the given name for the identity, the versions and the resolution.
  fileprivate func write(
    _ name: String, to json: inout JSONWriter, identity: (inout JSONWriter) -> Void
  ) {
    json.object { json in
      json.field(name, identity)
      json.field("kind", conflict.kind.rawValue)
      json.field("base", conflict.base)
      json.field("local", conflict.local)
      json.field("remote", conflict.remote)
      json.field("resolution", resolution.name)
    }
  }
}

extension ConflictReport<ListRecord, RecordKey> {
  /// Writes an object with the key: a value, or an array of several.
  fileprivate func write(to json: inout JSONWriter, key: [String]) {
    write("key", to: &json) { json in
      let record = conflict.local ?? conflict.remote
      let values = key.map { record?[$0] ?? .null }
      if values.count == 1 { json.write(values[0]) } else { json.write(values) }
    }
  }
}

extension ConflictReport<String, String> {
  fileprivate func write(to json: inout JSONWriter) {
    write("column", to: &json) { $0.write(id) }
  }

  /// The lines that report the conflict of a column.
  fileprivate var lines: [String] {
    func text(_ name: String?) -> String {
      name.map { $0 == id ? "kept, with changes" : "named \($0.escapingControls())" } ?? "removed"
    }
    return [
      "! \(conflict.kind.rawValue) column \(id.escapingControls()): \(resolution.name)",
      "  local   \(text(conflict.local))", "  remote  \(text(conflict.remote))",
    ]
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
