#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// The number of files and connections that this process may have open.
package enum OpenFileLimit {
  /// The number beyond which the limit is not raised: more than the usual limits of a server need.
  package static let maxCount = 65_536

  #if canImport(Glibc)
    private static var resource: __rlimit_resource_t { .init(RLIMIT_NOFILE.rawValue) }
  #else
    private static var resource: Int32 { RLIMIT_NOFILE }
  #endif

  /// The limit; the largest integer if there is none.
  package static var current: Int {
    var limit = rlimit()
    return getrlimit(resource, &limit) == 0 ? Int(clamping: limit.rlim_cur) : .max
  }

  /// Raises the limit as far as the system permits it to this process. Systems choose a low limit for
  /// old programs that cannot handle larger descriptors, and permit more.
  package static func raise() {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0, limit.rlim_cur < maxCount else { return }
    limit.rlim_cur = min(limit.rlim_max, rlim_t(maxCount))
    setrlimit(resource, &limit)
  }
}
