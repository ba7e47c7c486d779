import Synchronization

/// Counts the peers that are served at a time.
final class PeerPlaces: Sendable {
  private let free: Mutex<Int>

  init(count: Int) { free = Mutex(count) }

  /// Takes a place; returns whether there was one.
  func take() -> Bool {
    free.withLock { free in
      guard free > 0 else { return false }
      free -= 1
      return true
    }
  }

  func giveBack() { free.withLock { $0 += 1 } }
}
