#if canImport(UIKit) && !os(watchOS)
  public import UIKit

  extension UICollectionView: ListBatchView {
    /// Performs the changes by `performBatchUpdates`.
    public func performBatch(_ changes: () -> Void) {
      withoutActuallyEscaping(changes) { performBatchUpdates($0) }
    }

    /// Deletes the elements.
    public func deleteElements(at offsets: [Int], inSection section: Int) {
      deleteItems(at: offsets.map { IndexPath(item: $0, section: section) })
    }

    /// Inserts the elements.
    public func insertElements(at offsets: [Int], inSection section: Int) {
      insertItems(at: offsets.map { IndexPath(item: $0, section: section) })
    }

    /// Moves the element.
    public func moveElement(from origin: Int, to destination: Int, inSection section: Int) {
      moveItem(
        at: IndexPath(item: origin, section: section),
        to: IndexPath(item: destination, section: section))
    }

    /// Reloads the elements.
    public func updateElements(at offsets: [Int], inSection section: Int) {
      reloadItems(at: offsets.map { IndexPath(item: $0, section: section) })
    }
  }

  extension UITableView: ListBatchView {
    /// Performs the changes by `performBatchUpdates`.
    public func performBatch(_ changes: () -> Void) {
      withoutActuallyEscaping(changes) { performBatchUpdates($0) }
    }

    /// Deletes the elements.
    public func deleteElements(at offsets: [Int], inSection section: Int) {
      deleteRows(at: offsets.map { IndexPath(row: $0, section: section) }, with: .automatic)
    }

    /// Inserts the elements.
    public func insertElements(at offsets: [Int], inSection section: Int) {
      insertRows(at: offsets.map { IndexPath(row: $0, section: section) }, with: .automatic)
    }

    /// Moves the element.
    public func moveElement(from origin: Int, to destination: Int, inSection section: Int) {
      moveRow(
        at: IndexPath(row: origin, section: section),
        to: IndexPath(row: destination, section: section))
    }

    /// Reloads the elements.
    public func updateElements(at offsets: [Int], inSection section: Int) {
      reloadRows(at: offsets.map { IndexPath(row: $0, section: section) }, with: .automatic)
    }
  }
#elseif canImport(AppKit)
  public import AppKit

  extension NSCollectionView: ListBatchView {
    /// Performs the changes by `performBatchUpdates`.
    public func performBatch(_ changes: () -> Void) {
      withoutActuallyEscaping(changes) { performBatchUpdates($0) }
    }

    /// Deletes the elements.
    public func deleteElements(at offsets: [Int], inSection section: Int) {
      deleteItems(at: Set(offsets.map { IndexPath(item: $0, section: section) }))
    }

    /// Inserts the elements.
    public func insertElements(at offsets: [Int], inSection section: Int) {
      insertItems(at: Set(offsets.map { IndexPath(item: $0, section: section) }))
    }

    /// Moves the element.
    public func moveElement(from origin: Int, to destination: Int, inSection section: Int) {
      moveItem(
        at: IndexPath(item: origin, section: section),
        to: IndexPath(item: destination, section: section))
    }

    /// Reloads the elements.
    public func updateElements(at offsets: [Int], inSection section: Int) {
      reloadItems(at: Set(offsets.map { IndexPath(item: $0, section: section) }))
    }
  }
#endif
