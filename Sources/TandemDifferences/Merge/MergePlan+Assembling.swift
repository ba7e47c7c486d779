extension MergePlan {
  /// Returns the merge with a resolution for each conflict, in order.
  @inlinable
  package func merge<ID: Equatable>(
    _ resolutions: [MergeResolution<Element>], identifiedBy id: (Element) -> ID
  ) throws(MergeError) -> ThreeWayMerge<Element, ID> {
    var assembly = MergeAssembly<Element, ID>(plan: self)
    for step in steps {
      switch step.kind {
      case .takeLocal: assembly.take(.local, at: step)
      case .takeRemote: assembly.take(.remote, at: step)
      case .conflict:
        let number = assembly.merge.conflicts.count
        let conflict = conflict(at: step)
        let identity = id(conflict.anyVersion)
        if case .merged(let value) = resolutions[number], id(value) != identity {
          throw .changedIdentity(conflict: number)
        }
        assembly.take(resolutions[number], at: step)
        assembly.merge.conflicts.append(
          ConflictReport(id: identity, conflict: conflict, resolution: resolutions[number]))
      }
    }
    return assembly.finish()
  }
}

extension SetDifference where Element: Equatable {
  /// Adds the change from `old` to `new`, which are `nil` if absent, unless they are equal.
  @inlinable
  mutating func append(old: Element?, new: Element?) {
    switch (old, new) {
    case (nil, nil): break
    case (nil, let new?): inserted.append(new)
    case (let old?, nil): deleted.append(old)
    case (let old?, let new?): if old != new { updated.append(Update(old: old, new: new)) }
    }
  }
}
