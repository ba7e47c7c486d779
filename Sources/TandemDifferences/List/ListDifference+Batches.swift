extension ListDifference {
  /// The difference as batches that a table or collection view can perform, one after the other.
  ///
  /// In one batch, the offsets of deletions, updates and the origins of moves count in the list
  /// before it. The offsets of insertions and the destinations of moves count in the list after it.
  /// This is the rule of UIKit's `performBatchUpdates(_:completion:)`, AppKit's
  /// `performBatchUpdates(_:completionHandler:)` and list views on the web. A view cannot move and
  /// reload an element in one batch. So an element that is both moved and updated is moved, with
  /// its old contents, in the first batch, and updated in the second.
  ///
  /// There are no batches if nothing changed, otherwise one or two. Each batch is a difference. To
  /// keep the model equal to the view, apply the batch to the model inside the view's update:
  ///
  /// <!-- Snippets/CodeInComments.swift batches -->
  /// ```swift
  /// for batch in difference.batches {
  ///   view.performBatchUpdates {
  ///     if let next = batch.applying(to: rows) { rows = next }
  ///     view.deleteItems(at: batch.deletions.map { [0, $0.offset] })
  ///     view.reloadItems(at: batch.updates.map { [0, $0.oldOffset] })
  ///     view.insertItems(at: batch.insertions.map { [0, $0.offset] })
  ///     for move in batch.moves { view.moveItem(at: [0, move.from], to: [0, move.to]) }
  ///   }
  /// }
  /// ```
  ///
  /// - Complexity: O(*d*) expected time for *d* changes.
  @inlinable
  public var batches: [ListDifference] {
    guard !isEmpty else { return [] }
    let destinations = Set(moves.map(\.to))
    let later = updates.filter { destinations.contains($0.newOffset) }
    guard !later.isEmpty else { return [self] }
    let first = ListDifference(
      sortedDeletions: deletions, insertions: insertions, moves: moves,
      updates: updates.filter { !destinations.contains($0.newOffset) })
    let second = ListDifference(
      sortedDeletions: [], insertions: [], moves: [],
      updates: later.map {
        Update(oldOffset: $0.newOffset, newOffset: $0.newOffset, old: $0.old, new: $0.new)
      })
    return [first, second]
  }
}
