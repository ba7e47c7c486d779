import Foundation

/// SQLite's own shell, as another process that runs what it is sent while this one goes on.
final class SQLiteShell {
  private let process = Process()
  private let input = Pipe()

  /// Starts it on a file. It waits for locks, and goes on after a constraint is violated.
  init(path: String) throws {
    signal(SIGPIPE, SIG_IGN)
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["sqlite3", "-batch", path]
    process.standardInput = input
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    try send(".timeout 3600000\nPRAGMA foreign_keys=ON;\nPRAGMA synchronous=OFF;\n")
  }

  deinit { if process.isRunning { process.terminate() } }

  /// Hands it more to do; waits only if it is far behind.
  func send(_ statements: String) throws {
    try input.fileHandleForWriting.write(contentsOf: Data(statements.utf8))
  }

  /// Returns when it has done everything.
  func end() throws {
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
  }
}
