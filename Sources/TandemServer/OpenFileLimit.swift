internal import SystemLibrary

/// The number of files and connections that this process may have open.
package enum OpenFileLimit {
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
}
