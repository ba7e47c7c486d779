internal import Dispatch
internal import Synchronization
internal import SystemLibrary

/// The databases of this process.
///
/// Variables of a program's main file are not released when the program ends. Its databases would then leave
/// commits, possibly all of them, in files `-wal`, which people do not copy. So they are closed when the process
/// ends normally: by `exit(3)`, or by the end of its main function.
enum OpenDatabases {
  private struct Entry {
    weak var database: Database?
  }

  private struct State {
    var entries: [ObjectIdentifier: Entry] = [:]
    var isClosedAtExit = false
  }

  /// The longest time that the end of a process waits.
  private static let maxWait = DispatchTimeInterval.seconds(2)

  private static let state = Mutex(State())

  static func add(_ database: Database) {
    let isFirst = state.withLock { state in
      state.entries[ObjectIdentifier(database)] = Entry(database: database)
      defer { state.isClosedAtExit = true }
      return !state.isClosedAtExit
    }
    if isFirst { atexit { OpenDatabases.close() } }
  }

  static func remove(_ database: Database) {
    state.withLock { _ = $0.entries.removeValue(forKey: ObjectIdentifier(database)) }
  }

  /// Closes all databases that nobody uses at this moment. Threads of the process continue to run.
  private static func close() {
    let databases = state.withLock { $0.entries.values.compactMap(\.database) }
    guard !databases.isEmpty else { return }
    let end = DispatchSemaphore(value: 0)
    DispatchQueue(label: "tandem.exit").async {
      for database in databases { database.closeIfIdle() }
      end.signal()
    }
    _ = end.wait(timeout: .now() + maxWait)
  }
}
