/// Runs `body`, and then `close`, even if `body` throws. A `defer` cannot wait for an asynchronous call.
///
/// It takes no isolation parameter, because only functions that are isolated to no actor call it.
package func closing<Value>(
  _ close: () async -> Void, after body: () async throws -> Value
) async throws -> Value {
  let result: Result<Value, any Error>
  do { result = .success(try await body()) } catch { result = .failure(error) }
  await close()
  return try result.get()
}
