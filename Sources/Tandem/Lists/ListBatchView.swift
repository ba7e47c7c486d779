/// A view of a list that animates changes in batches, such as UIKit's table and collection views and
/// AppKit's collection view.
///
/// `UITableView`, `UICollectionView` and `NSCollectionView` conform to it where they exist. Inside a
/// batch, offsets of deletions, updates and origins of moves count in the list before the batch;
/// offsets of insertions and destinations of moves count in the list after it.
@MainActor
public protocol ListBatchView: AnyObject {
  /// Performs the changes that `changes` makes as one animation. The view asks its data source for
  /// the number of elements before and after it.
  func performBatch(_ changes: () -> Void)

  /// Deletes elements.
  func deleteElements(at offsets: [Int], inSection section: Int)

  /// Inserts elements.
  func insertElements(at offsets: [Int], inSection section: Int)

  /// Moves an element.
  func moveElement(from origin: Int, to destination: Int, inSection section: Int)

  /// Asks the data source for elements again.
  func updateElements(at offsets: [Int], inSection section: Int)
}

extension ListBatchView {
  /// Animates the change of a list.
  ///
  /// An element that moves and changes is moved in a first batch and updated in a second one, because
  /// views cannot do both in one.
  ///
  /// - Parameters:
  ///   - difference: The change, as ``/TandemLiveQueries/LiveQuery`` delivers it or as
  ///     ``/TandemDifferences/ListDifference`` computes it.
  ///   - elements: The elements that the view shows.
  ///   - section: The section of the view that shows them.
  ///   - setElements: Stores the elements for the data source of the view. It is called inside each
  ///     batch, with the elements after it.
  /// - Returns: False if the difference does not lead from a list of the length of `elements`; then nothing has
  ///   changed. The elements themselves are not compared.
  /// - Complexity: O(*n*) for *n* elements.
  @discardableResult
  public func animate<Element>(
    _ difference: ListDifference<Element>, of elements: [Element], inSection section: Int = 0,
    setElements: ([Element]) -> Void
  ) -> Bool {
    guard difference.applying(to: elements, by: { _, _ in true }) != nil else { return false }
    var elements = elements
    for batch in difference.batches {
      guard let next = batch.applying(to: elements, by: { _, _ in true }) else {
        preconditionFailure("Each batch leads to the elements from which the next one leads")
      }
      performBatch {
        setElements(next)
        perform(batch, inSection: section)
      }
      elements = next
    }
    return true
  }

  private func perform<Element>(_ batch: ListDifference<Element>, inSection section: Int) {
    if !batch.deletions.isEmpty {
      deleteElements(at: batch.deletions.map(\.offset), inSection: section)
    }
    if !batch.updates.isEmpty {
      updateElements(at: batch.updates.map(\.oldOffset), inSection: section)
    }
    if !batch.insertions.isEmpty {
      insertElements(at: batch.insertions.map(\.offset), inSection: section)
    }
    for move in batch.moves { moveElement(from: move.from, to: move.to, inSection: section) }
  }
}
