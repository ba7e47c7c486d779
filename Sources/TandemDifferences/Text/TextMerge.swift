/// Two edits of one text made into one, as `diff3` does, and more finely where lines conflict.
///
/// Lines that only one side changed are taken from it, lines that both changed alike are taken once.
/// Where both changed the same or touching lines differently, their words are merged in the same
/// way, and with ``TextGranularity/characters`` the characters of touching words. What still
/// conflicts is reported, as the whole lines of all three versions: nothing inserted by either side
/// is dropped, and nothing deleted that one of them did not delete.
///
/// Exchanging local and remote exchanges them in the result, and nothing else.
public struct TextMerge: Sendable {
  /// Lines that both sides changed, in different ways.
  public struct Conflict: Sendable {
    /// The lines before either edit, and where they are, as UTF-8 offsets.
    public var base: String
    /// The lines as the local text has them.
    public var local: String
    /// The lines as the remote text has them.
    public var remote: String
    /// Where `base` is in the base text, as UTF-8 offsets.
    public var baseRange: Range<Int>
    /// Where `local` is in the local text, as UTF-8 offsets.
    public var localRange: Range<Int>
    /// Where `remote` is in the remote text, as UTF-8 offsets.
    public var remoteRange: Range<Int>
  }

  private enum Piece {
    case agreed(String)
    case conflict(Conflict)
  }

  private var pieces: [Piece] = []

  /// Merges two edits of `base`.
  ///
  /// The edits may share lines as long as they are apart by at least one unchanged token of
  /// `granularity`. By words, the default, two different edits of one word conflict, so "10" that
  /// became "15" here and "20" there does not become "25".
  ///
  /// - Complexity: that of four to eight comparisons, see ``TextDifference/init(from:to:by:)``.
  public init(
    base: String, local: String, remote: String, by granularity: TextGranularity = .words
  ) {
    self.init(
      base: base, local: local, remote: remote, levels: TextGranularity.levels(to: granularity)[...]
    )
  }

  /// The merged text; `nil` if there are conflicts.
  public var merged: String? {
    conflicts.isEmpty ? resolved { $0.local } : nil
  }

  /// The lines that both sides changed differently, in the order of the text.
  public var conflicts: [Conflict] {
    pieces.compactMap { piece in
      if case .conflict(let conflict) = piece { conflict } else { nil }
    }
  }

  /// The merged text, with what `resolve` makes of each conflict: one of the three versions, for
  /// example, or all of them between markers.
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
