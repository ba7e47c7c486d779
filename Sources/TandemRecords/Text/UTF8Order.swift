#if canImport(Darwin)
  public import Darwin
#elseif canImport(Glibc)
  public import Glibc
#elseif canImport(Musl)
  public import Musl
#endif

/// Equality and order of strings by their UTF-8 bytes, where `String` itself compares by canonical
/// equivalence.
@usableFromInline
package enum UTF8Order {
  @inlinable
  package static func areEqual(_ first: String, _ second: String) -> Bool {
    first.utf8.count == second.utf8.count && compare(first, second) == 0
  }

  @inlinable
  package static func precedes(_ first: String, _ second: String) -> Bool {
    compare(first, second) < 0
  }

  /// Returns a negative number, zero or a positive number if `first` is before, equal to or after
  /// `second`.
  @inlinable
  package static func compare(_ first: String, _ second: String) -> Int {
    withBytes(of: first) { a in withBytes(of: second) { b in compare(a, b) } }
  }

  /// Returns a negative number, zero or a positive number if `first` is before, equal to or after
  /// `second`.
  @inlinable
  package static func compare(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer)
    -> Int
  {
    let shared = min(first.count, second.count)
    if shared > 0, let a = first.baseAddress, let b = second.baseAddress {
      let order = memcmp(a, b, shared)
      if order != 0 { return Int(order) }
    }
    return first.count - second.count
  }

  /// Calls `body` with the string's UTF-8 bytes, in place where they are contiguous.
  @inlinable
  package static func withBytes<Result>(
    of text: String, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    if let result = text.utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) })
    {
      return result
    }
    var copy = text
    return copy.withUTF8 { body(UnsafeRawBufferPointer($0)) }
  }
}
