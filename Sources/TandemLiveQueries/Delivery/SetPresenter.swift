public import TandemDifferences

/// Keeps presented objects in step with a live query: the pins on a map, the models behind views.
///
/// Each element has one object, made when the element first appears and kept while it stays. An
/// element that changes updates the same object, so that, for instance, its selection stays.
///
/// <!-- Snippets/CodeInComments.swift presenter -->
/// ```swift
/// @MainActor func show(_ places: LiveQuery<Place>, in database: Database) async throws {
///   var presenter = SetPresenter<Place, Pin>()
///   for try await difference in places.differences(in: database) {
///     let pins = presenter.present(difference, onInsert: Pin.init) { $0.move(to: $1) }
///     map.remove(pins.deleted)
///     map.add(pins.inserted)
///   }
/// }
/// ```
///
/// **Isolation.** Differences are `Sendable` values. The presenter is a value in the isolation of
/// the loop, and calls its closures there, while it presents: objects of an actor never leave it.
/// An object that `onUpdate` changes is both the old and the new element of its update.
///
/// **Identity.** Elements are distinguished by their own identity, never by that of the objects.
public struct SetPresenter<Element: Identifiable, Presented> {
  /// The presented objects, by the identity of their elements.
  public private(set) var presented: [Element.ID: Presented] = [:]

  /// A presenter without objects.
  public init() {}

  /// A presenter of existing objects, for a sequence that starts from their elements.
  public init(startingFrom presented: [Element.ID: Presented]) { self.presented = presented }

  /// Presents a difference.
  ///
  /// A difference that does not follow the last one is presented as far as possible: an unknown
  /// element is inserted, a known one updated. An update that changes an element's identity keeps
  /// its object.
  ///
  /// - Parameters:
  ///   - difference: The changes.
  ///   - onInsert: Makes the object for a new element.
  ///   - onUpdate: Brings the object up to date, or replaces it.
  /// - Returns: The difference with objects instead of elements.
  /// - Throws: The error that `onInsert` or `onUpdate` throws; then ``presented`` is unchanged,
  ///   though objects may have been updated.
  /// - Complexity: O(*d*) for *d* elements in the difference.
  public mutating func present<Failure: Error>(
    _ difference: SetDifference<Element>,
    onInsert: (Element) throws(Failure) -> Presented,
    onUpdate: (_ presented: inout Presented, _ element: Element) throws(Failure) -> Void
  ) throws(Failure) -> SetDifference<Presented> {
    // Made at the end, so that a closure that throws leaves everything as it was.
    var changes = PresentedChanges<Element.ID, Presented>()
    var result = SetDifference<Presented>()
    result.deleted = difference.deleted.compactMap { changes.take($0.id, of: presented) }
    // All at once: an element may get the identity that another one gives up.
    let carried = difference.updated.map { update in
      update.old.id == update.new.id ? nil : changes.take(update.old.id, of: presented)
    }
    let arriving = difference.updated.map(\.new) + difference.inserted
    for (offset, element) in arriving.enumerated() {
      let known = changes.take(element.id, of: presented)
      let moved = offset < carried.count ? carried[offset] : nil
      guard let old = moved ?? known else {
        let new = try onInsert(element)
        changes.put(new, element.id)
        result.inserted.append(new)
        continue
      }
      // The object of the identity that this element has now.
      if moved != nil, let known { result.deleted.append(known) }
      var new = old
      try onUpdate(&new, element)
      changes.put(new, element.id)
      result.updated.append(.init(old: old, new: new))
    }
    for (id, new) in changes.byID { presented[id] = new }
    return result
  }
}

/// Changes of the presented objects, before they are made.
private struct PresentedChanges<ID: Hashable, Presented> {
  /// The object to present; `nil` for none.
  private(set) var byID: [ID: Presented?] = [:]

  /// The object that is presented for an identity, and none afterwards.
  mutating func take(_ id: ID, of presented: [ID: Presented]) -> Presented? {
    let current = byID[id] ?? presented[id]
    byID[id] = .some(nil)
    return current
  }

  mutating func put(_ new: Presented, _ id: ID) { byID[id] = .some(new) }
}

extension SetPresenter: Sendable where Element.ID: Sendable, Presented: Sendable {}
