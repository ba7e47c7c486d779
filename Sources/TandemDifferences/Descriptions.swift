// One line for each type that is printed while debugging. Every line is bounded: elements and texts
// are shortened, and of long lists only the first elements are shown.

/// Bounds of descriptions.
package enum DescriptionLimit {
  /// The maximum number of elements of one list.
  package static let elementCount = 3
  /// The maximum number of characters of one element or text.
  package static let characterCount = 100

  /// A value's description, cut after ``characterCount`` characters.
  package static func text(_ value: some Any) -> String {
    let text = "\(value)"
    let start = text.prefix(characterCount)
    return start.endIndex == text.endIndex ? text : start + "…"
  }

  /// The first elements in brackets: `[a, b, c, … 7 more]`.
  package static func list(_ elements: some Collection, _ text: (Any) -> String = text) -> String {
    var texts = elements.prefix(elementCount).map { text($0) }
    if elements.count > elementCount { texts.append("… \(elements.count - elementCount) more") }
    return "[" + texts.joined(separator: ", ") + "]"
  }

  /// The names and elements of the lists that are not empty, or `no changes`.
  package static func lists(_ lists: [(name: String, elements: [Any])]) -> String {
    let texts = lists.filter { !$0.elements.isEmpty }.map { "\($0.name) \(list($0.elements))" }
    return texts.isEmpty ? "no changes" : texts.joined(separator: ", ")
  }
}

// MARK: - Sets

extension SetChange: CustomStringConvertible {
  /// As in `updated a → b`.
  public var description: String {
    switch self {
    case .inserted(let element): "inserted \(DescriptionLimit.text(element))"
    case .updated(let old, let new):
      "updated \(DescriptionLimit.text(old)) → \(DescriptionLimit.text(new))"
    case .deleted(let element): "deleted \(DescriptionLimit.text(element))"
    }
  }
}

extension SetDifference: CustomStringConvertible {
  /// As in `inserted [a, b], updated [c → d], deleted [e]`.
  public var description: String {
    DescriptionLimit.lists([
      ("inserted", inserted), ("updated", updated), ("deleted", deleted),
    ])
  }
}

extension SetDifference.Update: CustomStringConvertible {
  /// As in `a → b`.
  public var description: String {
    "\(DescriptionLimit.text(old)) → \(DescriptionLimit.text(new))"
  }
}

// MARK: - Lists

extension ListPlacement: CustomStringConvertible {
  /// As in `3: a`.
  public var description: String { "\(offset): \(DescriptionLimit.text(element))" }
}

extension ListMove: CustomStringConvertible {
  /// As in `3 → 5`.
  public var description: String { "\(from) → \(to)" }
}

extension ListUpdate: CustomStringConvertible {
  /// As in `3: a → 5: b`.
  public var description: String {
    "\(oldOffset): \(DescriptionLimit.text(old)) → \(newOffset): \(DescriptionLimit.text(new))"
  }
}

extension ListDifference: CustomStringConvertible {
  /// As in `deletions [0: a], insertions [2: b], moves [3 → 1], updates [4: c → 4: d]`.
  public var description: String {
    DescriptionLimit.lists([
      ("deletions", deletions), ("insertions", insertions), ("moves", moves), ("updates", updates),
    ])
  }
}

extension SectionedOffset: CustomStringConvertible {
  /// The section and the element, separated by a slash.
  public var description: String { "\(section)/\(element)" }
}

extension SectionedListDifference: CustomStringConvertible {
  /// As in `sections: no changes; deletions [0/1: a], moves [0/2 → 1/0]`.
  public var description: String {
    let elements = DescriptionLimit.lists([
      ("deletions", deletions), ("insertions", insertions), ("moves", moves), ("updates", updates),
    ])
    return "sections: \(sections); \(elements)"
  }
}

// MARK: - Merges

extension MergeConflict: CustomStringConvertible {
  /// As in `edit/edit: base a, local b, remote c`.
  public var description: String {
    let versions = [("base", base), ("local", local), ("remote", remote)]
    let texts = versions.compactMap { name, version in
      version.map { "\(name) \(DescriptionLimit.text($0))" }
    }
    return "\(kind.rawValue): " + texts.joined(separator: ", ")
  }
}

extension MergeResolution: CustomStringConvertible {
  /// As in `local` or `merged a`.
  public var description: String {
    switch self {
    case .local: "local"
    case .remote: "remote"
    case .merged(let value): "merged \(DescriptionLimit.text(value))"
    case .deleted: "deleted"
    case .unresolved: "unresolved"
    }
  }
}

extension ConflictReport: CustomStringConvertible {
  /// As in `7: edit/edit: base a, local b, remote c: unresolved`.
  public var description: String { "\(id): \(conflict): \(resolution)" }
}

extension ThreeWayMerge: CustomStringConvertible {
  /// As in `merged [a, b]; to local: inserted [b]; to remote: no changes; conflicts []`.
  public var description: String {
    "merged \(DescriptionLimit.list(merged)); to local: \(toLocal); to remote: \(toRemote); "
      + "conflicts \(DescriptionLimit.list(conflicts) { "\($0)" })"
  }
}

// MARK: - Texts

extension TextDifference.Edit: CustomStringConvertible {
  /// As in `19: "mat" → "sofa"`.
  public var description: String {
    "\(offset): \(DescriptionLimit.text(deleted.debugDescription)) → "
      + DescriptionLimit.text(inserted.debugDescription)
  }
}

extension TextDifference: CustomStringConvertible {
  /// The first edits, as in `edits [19: "mat" → "sofa"]`.
  public var description: String {
    DescriptionLimit.lists([("edits", edits)])
  }
}

extension TextPatch: CustomStringConvertible {
  /// The first edits, without their contexts.
  public var description: String {
    DescriptionLimit.lists([("hunks", hunks.map(\.edit))])
  }
}
