/// A list that arrives in pages: all at once, or one array after the other.
///
/// A page may be empty. A run reads the sequence once. It requests a page when the page before is
/// compared, so a slow run holds back a fast source.
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

  /// Pages that are requested one at a time by a cursor.
  ///
  /// - Parameters:
  ///   - first: The cursor of the first page: an offset, a URL, a token.
  ///   - page: Returns the page of a cursor and the cursor of the next page, or `nil` after the
  ///     last one.
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
