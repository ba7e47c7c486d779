/// The pools of memory that the C library keeps for threads.
enum MemoryArenas {
  /// Makes all threads share one pool.
  ///
  /// A commit is encoded on whichever thread is free. With a pool for each thread, every pool comes to
  /// keep as much memory as a commit of 10,000 rows takes, so that the memory of a long
  /// synchronization grows with the number of its commits.
  static func useOne() {
    #if canImport(Glibc)
      // `M_ARENA_MAX` of <malloc.h>, which Swift's module of the library lacks.
      let maxArenaCount: Int32 = -8
      guard let function = dlsym(nil, "mallopt") else { return }
      typealias SetOption = @convention(c) (Int32, Int32) -> Int32
      _ = unsafeBitCast(function, to: SetOption.self)(maxArenaCount, 1)
    #endif
  }
}
