/// Runs `body` and cancels it when it takes longer than `limit`; `nil` for no limit.
///
/// Returns only after `body` has returned. A late success counts as success.
///
/// - Throws: The error of `body`; if it was late, ``MirrorError`` of the code
///   ``MirrorError/Code/timedOut``.
func withTimeout<Result: Sendable>(
  _ limit: Duration?, clock: any Clock<Duration>,
  _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
  guard let limit else { return try await body() }
  return try await withTaskGroup(of: Swift.Result<Result, any Error>?.self) { group in
    group.addTask {
      do { return .success(try await body()) } catch { return .failure(error) }
    }
    group.addTask {
      try? await clock.sleep(for: limit)
      return nil
    }
    var isLate = false
    while let outcome = await group.next() {
      guard let outcome else {
        isLate = !Task.isCancelled
        group.cancelAll()
        continue
      }
      group.cancelAll()
      guard isLate, case .failure = outcome else { return outcome }
      return .failure(MirrorError(.timedOut, "no answer within \(limit)"))
    }
    preconditionFailure("The body always has an outcome")
  }.get()
}
