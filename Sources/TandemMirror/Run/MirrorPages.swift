internal import TandemDifferences

/// A list that arrives in pages: all at once, or one array after the other.
///
/// A page may be empty. The sequence is read once per run; whoever reads it asks for the next page
/// only when it is done with the one before, so a slow reader holds back a fast source.
public struct MirrorPages<Element: Sendable>: AsyncSequence, Sendable {
  private let make: @Sendable () -> Iterator

  private init(making make: @escaping @Sendable () -> Iterator) { self.make = make }

  /// The whole list as one page.
  public init(_ elements: [Element]) {
    self.init(making: {
      var rest: [Element]? = elements
      return Iterator {
        defer { rest = nil }
        return rest
      }
    })
  }

  /// The pages of another sequence.
  public init<Pages: AsyncSequence & Sendable>(_ pages: Pages) where Pages.Element == [Element] {
    self.init(making: {
      var iterator = pages.makeAsyncIterator()
      return Iterator { try await iterator.next() }
    })
  }

  /// Pages that are asked for one at a time, until the answer is `nil`.
  ///
  /// - Parameters:
  ///   - first: What the first page is asked by: a cursor, an offset, a URL.
  ///   - page: Answers a page and what the next one is asked by; `nil` if it is the last one.
  public init<Cursor: Sendable>(
    from first: Cursor,
    _ page: @escaping @Sendable (Cursor) async throws -> (elements: [Element], next: Cursor?)
  ) {
    self.init(making: {
      var cursor: Cursor? = first
      return Iterator {
        guard let current = cursor else { return nil }
        let answer = try await page(current)
        cursor = answer.next
        return answer.elements
      }
    })
  }

  /// Reads the pages from the first one on.
  public func makeAsyncIterator() -> Iterator { make() }

  /// Reads pages one after the other.
  public struct Iterator: AsyncIteratorProtocol {
    private let nextPage: () async throws -> [Element]?

    fileprivate init(_ nextPage: @escaping () async throws -> [Element]?) {
      self.nextPage = nextPage
    }

    /// The next page, or `nil` after the last one.
    public mutating func next() async throws -> [Element]? { try await nextPage() }
  }
}
