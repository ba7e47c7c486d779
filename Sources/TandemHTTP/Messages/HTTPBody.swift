private import Synchronization

/// The content of a response, in chunks of bytes as they arrive.
///
/// There is one body however many copies or iterators there are: each chunk is handed out once, in
/// order. Its end, or its error, is repeated. A slow reader makes the server wait; dropping the body, or
/// cancelling the reading task, ends the transfer.
///
/// One task reads at a time.
public struct HTTPBody: AsyncSequence, Sendable {
  /// Some bytes, at least one.
  public typealias Element = [UInt8]

  private let nextChunk: @Sendable () async throws -> [UInt8]?

  /// A body that asks `nextChunk` for chunks until it returns `nil` or throws. What the closure
  /// keeps alive is released with the body.
  public init(_ nextChunk: @escaping @Sendable () async throws -> [UInt8]?) {
    self.nextChunk = nextChunk
  }

  /// A body of one chunk, or none if `bytes` is empty.
  public init(_ bytes: [UInt8]) {
    let chunk = OneChunk(bytes)
    self.init { chunk.take() }
  }

  /// Reads the body from where it is.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(nextChunk: nextChunk) }

  /// Reads one body.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let nextChunk: @Sendable () async throws -> [UInt8]?

    /// The next chunk, or `nil` at the end.
    ///
    /// - Throws: ``TransportError`` if the body is cut short, delayed, damaged or too long;
    ///   `CancellationError` if the task is cancelled.
    public mutating func next() async throws -> [UInt8]? { try await nextChunk() }
  }

  /// The rest of the body as one array, or `nil` if it is longer than `maxByteCount`, found out
  /// before more than that is kept.
  public func collected(maxByteCount: Int) async throws -> [UInt8]? {
    var bytes: [UInt8] = []
    for try await chunk in self {
      guard chunk.count <= maxByteCount - bytes.count else { return nil }
      if bytes.isEmpty { bytes = chunk } else { bytes += chunk }
    }
    return bytes
  }
}

private final class OneChunk: Sendable {
  private let bytes: Mutex<[UInt8]?>

  init(_ bytes: [UInt8]) { self.bytes = Mutex(bytes.isEmpty ? nil : bytes) }

  func take() -> [UInt8]? {
    bytes.withLock { bytes in
      defer { bytes = nil }
      return bytes
    }
  }
}
