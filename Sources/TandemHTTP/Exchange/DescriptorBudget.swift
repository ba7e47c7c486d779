internal import SystemLibrary

/// The numbers of connections and files that may be open at a time, so that the rest of the process has
/// descriptors left: libdispatch ends a process that has none.
package struct DescriptorBudget: Hashable, Sendable {
  /// The maximum number of transfers into files at a time.
  package let maxTransferCount: Int
  /// The maximum number of open connections, including those kept for reuse.
  let maxConnectionCount: Int

  /// Descriptors reserved for databases, directories, event queues and the rest of the process.
  static let reservedCount = 64
  /// The connection of a transfer, or two while both versions of IP are tried; its file; and the file with
  /// its resumption state.
  static let countPerTransfer = 4
  /// Half of the descriptors are for connections.
  private static let countPerConnection = 2

  /// The budget of a process with that limit of descriptors; at least one transfer.
  init(descriptorCount: Int) {
    let count = max(0, descriptorCount - Self.reservedCount)
    maxTransferCount = max(1, count / Self.countPerTransfer)
    maxConnectionCount = max(1, count / Self.countPerConnection)
  }

  /// The budget by the limit that is in force (`ulimit -n`).
  package static var current: DescriptorBudget {
    DescriptorBudget(descriptorCount: OpenFileLimit.current)
  }
}
