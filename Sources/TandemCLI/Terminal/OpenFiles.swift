/// The limit of open files and connections of the process.
enum OpenFiles {
  /// Raises the limit to the maximum that the system allows.
  ///
  /// The soft limit is for programs that use `select`, which takes no more than 1,024.
  static func raiseLimit() {
    var limit = rlimit()
    #if canImport(Darwin)
      let (resource, most) = (RLIMIT_NOFILE, rlim_t(OPEN_MAX))
    #else
      let (resource, most) = (__rlimit_resource_t(RLIMIT_NOFILE.rawValue), rlim_t.max)
    #endif
    guard getrlimit(resource, &limit) == 0 else { return }
    limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, most))
    // If it stays as it was, fewer contents are fetched at a time.
    setrlimit(resource, &limit)
  }
}
