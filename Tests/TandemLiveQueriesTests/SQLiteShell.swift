import Foundation
import TestFolder

/// SQLite's own shell, as another process that runs what it is sent while this one goes on.
final class SQLiteShell {
  private let program: TestProgram
  private let input = Pipe()

  /// Starts it on a file. It waits for locks, and goes on after a constraint is violated.
  init(path: String) throws {
    signal(SIGPIPE, SIG_IGN)
    program = try TestProgram(["sqlite3", "-batch", path], input: .pipe(input), error: .null)
    try send(".timeout 3600000\nPRAGMA foreign_keys=ON;\nPRAGMA synchronous=OFF;\n")
  }

  /// Hands it more to do; waits only if it is far behind.
  func send(_ statements: String) throws {
    try input.fileHandleForWriting.write(contentsOf: Data(statements.utf8))
  }

  /// Returns when it has done everything.
  func end() throws {
    try input.fileHandleForWriting.close()
    program.waitUntilEnd()
  }
}
