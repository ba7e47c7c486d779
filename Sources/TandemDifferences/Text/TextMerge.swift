/// The merge of two edits of one text, as by `diff3`, but more finely where lines conflict.
///
/// Lines that only one side changed are taken from that side. Lines that both sides changed in the
/// same way are taken once. If both sides changed the same or adjacent lines differently, their
/// words are merged in the same way, and with ``TextGranularity/characters`` the characters of
/// adjacent words. The remaining conflicts are reported as whole lines of all three versions. No
/// inserted text is dropped, and no text is deleted that neither side deleted.
///
/// If local and remote are exchanged, they are exchanged in the result, and nothing else changes.
public struct TextMerge: Sendable {
  /// Lines that both sides changed differently.
  public struct Conflict: Sendable {
    /// The lines in the base text.
    public var base: String
    /// The lines in the local text.
    public var local: String
    /// The lines in the remote text.
    public var remote: String
    /// The range of `base` in the base text, in UTF-8 offsets.
    public var baseRange: Range<Int>
    /// The range of `local` in the local text, in UTF-8 offsets.
    public var localRange: Range<Int>
    /// The range of `remote` in the remote text, in UTF-8 offsets.
    public var remoteRange: Range<Int>
  }

  private enum Piece {
    case agreed(String)
    case conflict(Conflict)
  }

  private var pieces: [Piece] = []

  /// Merges two edits of `base`.
  ///
  /// Edits may be in the same line if at least one unchanged token of `granularity` is between
  /// them. With words, the default, two different edits of one word conflict. So "10" that became
  /// "15" on one side and "20" on the other does not become "25".
  ///
  /// - Complexity: that of four to eight comparisons; see ``TextDifference/init(from:to:by:)``.
  public init(
    base: String, local: String, remote: String, by granularity: TextGranularity = .words
  ) {
    self.init(
      base: base, local: local, remote: remote, levels: TextGranularity.levels(to: granularity)[...]
    )
  }

  /// The merged text, or `nil` if there are conflicts.
  public var merged: String? {
    conflicts.isEmpty ? resolved { $0.local } : nil
  }

  /// The lines that both sides changed differently, in the order of the text.
  public var conflicts: [Conflict] {
    pieces.compactMap { piece in
      if case .conflict(let conflict) = piece { conflict } else { nil }
    }
  }

  /// Returns the merged text. `resolve` returns the text for each conflict: one of the three
  /// versions, for example, or all of them between markers.
  public func resolved(by resolve: (Conflict) -> String) -> String {
    var text = ""
    for piece in pieces {
      switch piece {
      case .agreed(let agreed): text += agreed
      case .conflict(let conflict): text += resolve(conflict)
      }
    }
    return text
  }
}

extension TextMerge {
  private init(
    base: String, local: String, remote: String, levels: ArraySlice<TextGranularity>
  ) {
    guard let level = levels.first else { return }
    ContiguousText.with(base, local) { base, local in
      ContiguousText.with(remote) { remote in
        let regions = MergeRegion.regions(
          local: changedBytes(from: base, to: local, by: level),
          remote: changedBytes(from: base, to: remote, by: level))
        var end = 0
        for region in regions {
          append(.agreed(base[end..<region.base.lowerBound]))
          append(region, base, local, remote, finer: levels.dropFirst())
          end = region.base.upperBound
        }
        append(.agreed(base[end..<base.count]))
      }
    }
  }

  private mutating func append(
    _ region: MergeRegion, _ base: ContiguousText, _ local: ContiguousText,
    _ remote: ContiguousText, finer levels: ArraySlice<TextGranularity>
  ) {
    let conflict = Conflict(
      base: base[region.base], local: local[region.local], remote: remote[region.remote],
      baseRange: region.base, localRange: region.local, remoteRange: region.remote)
    if !region.isChangedRemotely || conflict.local.isIdenticalByBytes(to: conflict.remote) {
      append(.agreed(conflict.local))
    } else if !region.isChangedLocally {
      append(.agreed(conflict.remote))
    } else if let merged = conflict.merged(by: levels) {
      append(.agreed(merged))
    } else {
      append(.conflict(conflict))
    }
  }

  private mutating func append(_ piece: Piece) {
    if case .agreed("") = piece { return }
    pieces.append(piece)
  }
}

extension TextMerge.Conflict {
  fileprivate func merged(by levels: ArraySlice<TextGranularity>) -> String? {
    if levels.isEmpty { return nil }
    return TextMerge(base: base, local: local, remote: remote, levels: levels).merged
  }
}

extension TextGranularity {
  /// All granularities from the coarsest to `finest`.
  fileprivate static func levels(to finest: TextGranularity) -> [TextGranularity] {
    switch finest {
    case .lines: [.lines]
    case .words: [.lines, .words]
    case .characters: [.lines, .words, .characters]
    }
  }
}
