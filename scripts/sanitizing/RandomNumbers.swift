// Stands in for Swift.SystemRandomNumberGenerator, target by target, while scripts/sanitize runs: that one stores
// nothing, so that its address is any number. The thread sanitizer reads the address of each inout argument, and crashed.
struct SystemRandomNumberGenerator: RandomNumberGenerator {
  private var source = Swift.SystemRandomNumberGenerator()
  private var count = 0

  mutating func next() -> UInt64 {
    count &+= 1
    return source.next()
  }
}
