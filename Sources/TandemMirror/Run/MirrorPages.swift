/// A list that arrives in pages: all at once, or one array after the other.
///
/// A page may be empty. A run reads the sequence once. It requests a page when the page before is
/// compared, so a slow run holds back a fast source.
public struct MirrorPages<Value: Sendable>: AsyncSequence, Sendable {
  /// Reads pages one after the other.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let nextPage: () async throws -> [Value]?

    /// The next page, or `nil` after the last one.
    public mutating func next() async throws -> [Value]? { try await nextPage() }
  }

  private let makeIterator: @Sendable () -> AsyncIterator

  /// The whole list as one page.
  public init(_ elements: [Value]) {
    self.init(from: ()) { _ in (elements, nil) }
  }

  /// The pages of another sequence.
  public init<Pages: AsyncSequence & Sendable>(_ pages: Pages) where Pages.Element == [Value] {
    makeIterator = {
      var iterator = pages.makeAsyncIterator()
      return AsyncIterator { try await iterator.next() }
    }
  }

  /// Pages that are requested one at a time by a cursor.
  ///
  /// - Parameters:
  ///   - first: The cursor of the first page: an offset, a URL, a token.
  ///   - page: Returns the page of a cursor and the cursor of the next page, or `nil` after the
  ///     last one.
  public init<Cursor: Sendable>(
    from first: Cursor,
    _ page: @escaping @Sendable (Cursor) async throws -> (elements: [Value], next: Cursor?)
  ) {
    makeIterator = {
      var cursor: Cursor? = first
      return AsyncIterator {
        guard let current = cursor else { return nil }
        let answer = try await page(current)
        cursor = answer.next
        return answer.elements
      }
    }
  }

  /// Reads the pages from the first one on.
  public func makeAsyncIterator() -> AsyncIterator { makeIterator() }
}
