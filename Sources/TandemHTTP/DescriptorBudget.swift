#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// How many connections and files may be open at a time, so that the rest of the process finds
/// descriptors, too. libdispatch, for one, ends a process in which there are none left.
package struct DescriptorBudget: Hashable, Sendable {
  /// How many transfers into files may be under way.
  package let maxTransferCount: Int
  /// How many connections may be open, those that are kept for reuse included.
  let maxConnectionCount: Int

  /// What is left to databases, directories, event queues, and whatever else the process does.
  static let reservedCount = 64
  /// The connection of a transfer, or two while both versions of IP are tried; its file; and the one
  /// beside it that says how to go on.
  static let countPerTransfer = 4
  /// Half of what there is goes to connections.
  private static let countPerConnection = 2

  /// The budget of a process that may have so many descriptors; at least one transfer.
  init(descriptorCount: Int) {
    let count = max(0, descriptorCount - Self.reservedCount)
    maxTransferCount = max(1, count / Self.countPerTransfer)
    maxConnectionCount = max(1, count / Self.countPerConnection)
  }

  /// The budget by the limit that is in force (`ulimit -n`).
  package static var current: DescriptorBudget {
    var limit = rlimit()
    #if canImport(Darwin)
      let resource = RLIMIT_NOFILE
    #else
      let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #endif
    guard getrlimit(resource, &limit) == 0 else { return DescriptorBudget(descriptorCount: 0) }
    return DescriptorBudget(descriptorCount: Int(clamping: limit.rlim_cur))
  }
}
