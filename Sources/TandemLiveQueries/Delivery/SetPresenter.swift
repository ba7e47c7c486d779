public import TandemDifferences

/// Keeps what is presented in step with a live query: the pins on a map, the models behind views.
///
/// Something is presented for each element, made when the element first appears, and kept while it
/// stays: an element that changes updates the same object, which so keeps its selection.
///
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
/// **Isolation.** Differences are `Sendable` values and come from wherever they were made. The
/// presenter is a value of whoever iterates, and calls its closures there, while it presents: objects
/// of an actor never leave it. An object that `onUpdate` changes is both the old and the new element of
/// its update.
///
/// **Identity.** Elements are told apart by their own identity, never by that of what is presented.
public struct SetPresenter<Element: Identifiable, Presented> {
  /// What is presented now, by the identity of its element.
  public private(set) var presented: [Element.ID: Presented] = [:]

  /// A presenter that presents nothing yet.
  public init() {}

  /// A presenter of what is presented already, for a sequence that starts from those elements.
  public init(startingFrom presented: [Element.ID: Presented]) { self.presented = presented }

  /// Presents what changed.
  ///
  /// A difference that does not follow the last one is presented as far as it can be: an element that
  /// is unknown is inserted, one that is known updated.
  ///
  /// - Parameters:
  ///   - difference: What changed.
  ///   - onInsert: What to present for an element that was not there.
  ///   - onUpdate: Brings what is presented up to date, or replaces it.
  /// - Returns: The same in terms of what is presented.
  /// - Complexity: O(*d*) for *d* elements in the difference.
  public mutating func present<Failure: Error>(
    _ difference: SetDifference<Element>,
    onInsert: (Element) throws(Failure) -> Presented,
    onUpdate: (_ presented: inout Presented, _ element: Element) throws(Failure) -> Void
  ) throws(Failure) -> SetDifference<Presented> {
    var result = SetDifference<Presented>()
    for element in difference.deleted {
      if let old = presented.removeValue(forKey: element.id) { result.deleted.append(old) }
    }
    for element in difference.updated.map(\.new) + difference.inserted {
      guard let old = presented[element.id] else {
        let new = try onInsert(element)
        presented[element.id] = new
        result.inserted.append(new)
        continue
      }
      var new = old
      try onUpdate(&new, element)
      presented[element.id] = new
      result.updated.append(.init(old: old, new: new))
    }
    return result
  }
}

extension SetPresenter: Sendable where Element.ID: Sendable, Presented: Sendable {}
