/// The bytes that a server keeps for its clients, at most a share of them for one client.
struct MemoryShares {
  private let maxByteCount: Int
  private let maxClientByteCount: Int
  private var byteCount = 0
  /// The bytes of each client that has any.
  private var clientByteCounts: [String: Int] = [:]

  /// The maximum numbers of bytes of all clients together and of each one.
  init(maxByteCount: Int, maxClientByteCount: Int) {
    self.maxByteCount = maxByteCount
    self.maxClientByteCount = maxClientByteCount
  }

  /// Counts bytes for a client; `nil` for a client without a share of its own.
  ///
  /// - Returns: The limit that is exceeded now. The bytes are counted all the same.
  mutating func add(_ count: Int, for client: String?) -> ServerTrouble? {
    byteCount += count
    if let client {
      clientByteCounts[client, default: 0] += count
      if clientByteCounts[client, default: 0] > maxClientByteCount { return .clientOverloaded }
    }
    return byteCount > maxByteCount ? .overloaded : nil
  }

  /// Counts bytes no longer.
  mutating func remove(_ count: Int, for client: String?) {
    byteCount -= count
    guard let client, count > 0 else { return }
    clientByteCounts[client, default: 0] -= count
    if clientByteCounts[client] == 0 { clientByteCounts[client] = nil }
  }
}
