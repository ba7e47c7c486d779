internal import Dispatch
internal import Synchronization

extension Database {
  /// Opens a file without blocking this thread. Cancelling the task ends the wait at once; if the
  /// file is opened later, it is closed again.
  ///
  /// - Throws: As ``init(path:configuration:)``; `CancellationError`.
  public static func open(
    path: String, configuration: DatabaseConfiguration = DatabaseConfiguration()
  ) async throws -> Database {
    let opening = DatabaseOpening()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        guard opening.begin(continuation) else { return }
        DispatchQueue.global().async {
          opening.end(Result { try Database(path: path, configuration: configuration) })
        }
      }
    } onCancel: {
      opening.end(.failure(CancellationError()))
    }
  }
}
