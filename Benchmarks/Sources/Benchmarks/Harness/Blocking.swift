import Dispatch
import Synchronization

/// Runs `body` in a task, and waits for it on this thread.
func blocking<Value: Sendable>(
  _ body: @escaping @Sendable () async throws -> Value
) throws -> Value {
  let outcome = Outcome<Value>()
  Task {
    do {
      outcome.set(.success(try await body()))
    } catch {
      outcome.set(.failure(error))
    }
  }
  return try outcome.wait()
}

/// What a task leaves for a thread that waits for it.
private final class Outcome<Value: Sendable>: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)
  private let result = Mutex<Result<Value, any Error>?>(nil)

  func set(_ result: Result<Value, any Error>) {
    self.result.withLock { $0 = result }
    semaphore.signal()
  }

  func wait() throws -> Value {
    semaphore.wait()
    guard let result = result.withLock({ $0 }) else {
      preconditionFailure("the semaphore is signalled once there is a result")
    }
    return try result.get()
  }
}
