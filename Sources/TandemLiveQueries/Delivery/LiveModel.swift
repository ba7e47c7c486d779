public import Observation
public import TandemSQLite

/// The rows of a live query as an observable model, for views: one line keeps a list up to date.
///
/// <!-- Snippets/LiveModels.swift model -->
/// ```swift
/// @MainActor final class Screen {
///   let places = LiveModel(LiveQuery(Place.self, "ORDER BY name"), in: database)
/// }
/// ```
///
/// - **Isolation**: a model lives on the actor that made it, such as the main actor. There its
///   properties change, and there it must be used. It is not `Sendable`, so the compiler keeps it
///   there. In the initial value of a property, and in code without an actor, Swift names no actor:
///   the model then lives on the main actor. Such code traps if it runs elsewhere; in an actor of
///   your own, pass `isolation: self`.
/// - **Lifetime**: the query ends when the model is released.
/// - **Errors**: an error ends the query. ``error`` has it, ``elements`` stay as they were, and
///   ``show(_:isolation:)`` begins again.
@Observable
public final class LiveModel<Element: Sendable> {
  /// The rows of the result in its order; empty until the first result has been read.
  public private(set) var elements: [Element] = []
  /// True until the first result of the query has been read, or the query has failed.
  public private(set) var isLoading = true
  /// The error that ended the query, if one did.
  public private(set) var error: (any Error)?

  @ObservationIgnored private let database: Database
  @ObservationIgnored private var following: Task<Void, Never>?

  /// Follows a query from now on.
  ///
  /// - Parameters:
  ///   - query: The query. Its elements are in the order of ``LiveQuery``.
  ///   - database: The database to read and to observe.
  ///   - isolation: The actor on which the model lives: the caller's; `nil` for the main actor.
  public init(
    _ query: LiveQuery<Element>, in database: Database,
    isolation: isolated (any Actor)? = #isolation
  ) {
    self.database = database
    show(query, isolation: isolation)
  }

  deinit { following?.cancel() }

  /// Follows another query, or the same one again after an error. The elements stay until the first
  /// result of the query has been read.
  ///
  /// - Parameters:
  ///   - query: The query.
  ///   - isolation: The actor on which the model lives: the caller's; `nil` for the main actor.
  public func show(
    _ query: LiveQuery<Element>, isolation: isolated (any Actor)? = #isolation
  ) {
    following?.cancel()
    isLoading = true
    error = nil
    let follower = Follower(model: self)
    guard isolation == nil else {
      following = Task { [database] in
        _ = isolation
        await follower.follow(query, in: database)
      }
      return
    }
    MainActor.shared.preconditionIsolated("Swift names no actor here; pass isolation: self")
    // Safe: this code runs on the main actor, where the model is used.
    nonisolated(unsafe) let mainFollower = follower
    following = Task { @MainActor [database] in await mainFollower.follow(query, in: database) }
  }

  /// Passes the results of a query to its model, which it does not keep.
  private struct Follower {
    weak var model: LiveModel?

    func follow(
      _ query: LiveQuery<Element>, in database: Database,
      isolation: isolated (any Actor)? = #isolation
    ) async {
      do {
        for try await elements in query.values(in: database) {
          // Another query may be shown since these were read.
          guard !Task.isCancelled else { return }
          model?.elements = elements
          model?.isLoading = false
        }
      } catch {
        guard !Task.isCancelled else { return }
        model?.error = error
        model?.isLoading = false
      }
    }
  }
}
