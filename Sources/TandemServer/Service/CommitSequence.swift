/// The commits of a space, see ``SyncService/commits(in:after:)``.
struct CommitSequence: AsyncSequence, Sendable {
  let service: SyncService
  let space: String
  let position: CommitPosition

  /// Begins at the position.
  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(service: service, space: space, position: position)
  }

  /// Reads commits.
  struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let service: SyncService
    fileprivate let space: String
    fileprivate var position: CommitPosition

    /// The pause before a space is looked at again whose file was closed for others.
    private static let pause = Duration.seconds(1)

    /// The next changes; waits for them. Cancelling the task ends the wait by `CancellationError`.
    mutating func next() async throws -> CommittedChanges? {
      while true {
        let start = position
        let reading = try await service.spaces.with(space) { [space] store in
          try await CommittedChanges.read(space, in: store, after: start)
        }
        switch reading {
        case .changes(let changes):
          position = changes.position
          return changes
        case .none(at: let head):
          position = CommitPosition(since: head, cursor: nil)
          let (heartbeat, clock) = (service.limits.heartbeat, service.clock)
          do {
            try await service.spaces.follow(space) { store in
              _ = try await store.waitsForCommit(after: head, atMost: heartbeat, on: clock)
            }
          } catch is CancellationError where !Task.isCancelled {
            // Another space needs the place of this one among the open files.
            try await service.clock.sleep(for: Self.pause)
          }
        }
      }
    }
  }
}
