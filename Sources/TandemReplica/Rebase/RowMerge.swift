internal import TandemDifferences
internal import TandemRecords
internal import TandemSync

/// The merge of three versions of one record.
struct RowMerge {
  /// The merged record; `nil` if it is deleted.
  var result: Record?
  /// The conflict, if both sides changed the same thing.
  var conflict: Conflict?

  /// A conflict and its resolution.
  struct Conflict {
    let versions: MergeConflict<Record>
    var resolution: MergeResolution<Record>
    /// The fields in conflict; `nil` if it is the record as a whole.
    let fields: [String]?

    init(
      _ versions: MergeConflict<Record>, _ resolution: MergeResolution<Record>,
      _ fields: [String]? = nil
    ) {
      self.versions = versions
      self.resolution = resolution
      self.fields = fields
    }

    /// The conflict in the fields of a layout, of which people choose a version; `nil` if the local version has lost
    /// nothing there.
    func limited(to layout: RecordLayout) -> Conflict? {
      guard let remote = versions.remote, let local = versions.local else { return self }
      switch resolution {
      case .remote, .unresolved: break
      case .local, .merged, .deleted: return self
      }
      let known = versions.base ?? remote
      if let fields {
        let rest = fields.filter { layout.offset(of: $0) != nil }
        if rest.count == fields.count { return self }
        let isChanged = rest.contains { !known[$0].hasSameStorage(as: local[$0]) }
        return isChanged ? Conflict(versions, resolution, rest) : nil
      }
      // Other versions of a field that the table does not have meet the edit all the same.
      let names = (local.layout.names + known.layout.names).filter {
        layout.offset(of: $0) == nil && !known[$0].hasSameStorage(as: local[$0])
      }
      guard !names.isEmpty else { return self }
      let edited = local.with(names, of: remote)
      let base = known.with(names, of: remote)
      if base.hasSameStorage(as: edited) { return nil }
      return Conflict(
        versions.base == nil
          ? .addAdd(local: edited, remote: remote)
          : .editEdit(base: base, local: edited, remote: remote), resolution)
    }
  }

  /// Merges three versions, of which absent ones are `nil`. Changes are changes of storage: `1` and
  /// `1.0` differ.
  ///
  /// With the granularity `field`, all fields that can be merged are. The rule for the record sees
  /// them with the same value on both sides, so that it decides only on the others. What stays
  /// unresolved takes the remote version.
  init(
    base: Record?, local: Record?, remote: Record?, _ granularity: ConflictGranularity,
    _ merging: TableMerging
  ) {
    let counters = RowMerge.counters(base, local, remote, merging)
    self.init(result: nil)
    if local.hasSameStorage(as: remote), counters.isEmpty || base.hasSameStorage(as: local) {
      result = remote
    } else if base.hasSameStorage(as: remote) {
      result = local
    } else if base.hasSameStorage(as: local) {
      result = remote
    } else {
      merge(base, local, remote, granularity, merging)
    }
  }

  private init(result: Record?) { self.result = result }

  /// Merges versions of which no two have the same storage.
  private mutating func merge(
    _ base: Record?, _ local: Record?, _ remote: Record?,
    _ granularity: ConflictGranularity, _ merging: TableMerging
  ) {
    let conflict: MergeConflict<Record>
    switch (base, local, remote) {
    case (let base?, let local?, let remote?):
      conflict = .editEdit(base: base, local: local, remote: remote)
    case (nil, let local?, let remote?): conflict = .addAdd(local: local, remote: remote)
    case (let base?, let local?, nil): conflict = .editDelete(base: base, local: local)
    case (let base?, nil, let remote?): conflict = .deleteEdit(base: base, remote: remote)
    // Without a base, one side alone has a record: both others are absent and agree.
    case (nil, nil, let other), (nil, let other, nil), (_?, nil, let other):
      result = other
      return
    }
    var reduced = conflict
    if let local, let remote, granularity == .field {
      let fields = FieldMerge(base: base, local: local, remote: remote, merging)
      guard !fields.unresolved.isEmpty else {
        result = fields.remote
        if fields.hasConflict { self.conflict = Conflict(conflict, .merged(fields.remote)) }
        return
      }
      reduced =
        fields.base.map { .editEdit(base: $0, local: fields.local, remote: fields.remote) }
        ?? .addAdd(local: fields.local, remote: fields.remote)
      self.conflict = Conflict(conflict, .unresolved, fields.unresolved)
    } else {
      self.conflict = Conflict(conflict, .unresolved)
    }
    let resolution = merging.record.resolution(of: reduced)
    switch resolution {
    case .local: result = reduced.local
    case .remote, .unresolved: result = reduced.remote
    case .merged(let record): result = record
    case .deleted: result = nil
    }
    self.conflict?.resolution = resolution
  }

  /// The counters that both sides changed: equal sums of two additions are no agreement.
  private static func counters(
    _ base: Record?, _ local: Record?, _ remote: Record?, _ merging: TableMerging
  ) -> [String] {
    guard let base, let local, let remote, !merging.fields.isEmpty else { return [] }
    return local.layout.names.filter {
      merging.isCounter($0) && !base[$0].hasSameStorage(as: local[$0])
        && !base[$0].hasSameStorage(as: remote[$0])
    }
  }
}

extension Optional where Wrapped == Record {
  /// True if both are absent, or stored identically.
  func hasSameStorage(as other: Record?) -> Bool {
    switch (self, other) {
    case (let one?, let other?): one.hasSameStorage(as: other)
    case (nil, nil): true
    default: false
    }
  }
}
