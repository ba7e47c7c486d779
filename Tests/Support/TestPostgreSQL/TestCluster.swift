internal import Foundation
internal import TestFolder

/// A PostgreSQL server of a test, in a temporary folder, reached by a Unix socket. It ends with this process.
package final class TestCluster: Sendable {
  /// Why there is no server.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// A server for all tests of this process that do not kill it. What it writes is not synchronized to disk.
  package static let shared = Result { try TestCluster(isDurable: false) }

  private let folder: String
  private let programs: String
  private let isDurable: Bool
  /// Ends the server and removes the folder when this process has closed the pipe, or has ended.
  private let guardian: TestProgram
  private let life = Pipe()

  /// Makes a server and starts it.
  ///
  /// - Parameter isDurable: False if it need not survive a crash of the machine, which takes less time.
  package init(isDurable: Bool) throws {
    let installed =
      (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
    guard let version = installed.compactMap({ Int($0) }).max() else {
      throw Failure(
        description:
          "PostgreSQL is not installed, so that spaces in it cannot be tested: scripts/bootstrap test"
      )
    }
    programs = "/usr/lib/postgresql/\(version)/bin"
    // The path of a socket is short.
    folder = "/tmp/tandem-pg-\(UUID().uuidString.prefix(8))"
    self.isDurable = isDurable
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    if getuid() == 0 { try Self.run(["chown", "postgres:", folder]) }
    let script = """
      cat >/dev/null
      "$1" -D "$2/data" -m immediate stop >/dev/null 2>&1
      rm -rf "$2"
      """
    guardian = try TestProgram(
      Self.user + ["sh", "-c", script, "sh", "\(programs)/pg_ctl", folder], input: .pipe(life),
      output: .null, error: .null, folder: "/tmp")
    try Self.run(
      Self.user + [
        "\(programs)/initdb", "-D", "\(folder)/data", "-U", "tandem", "-A", "trust", "--no-sync",
        "-E", "UTF8", "--locale=C",
      ])
    try start()
  }

  deinit {
    try? life.fileHandleForWriting.close()
    guardian.waitUntilEnd()
  }

  /// PostgreSQL refuses to run as root.
  private static var user: [String] {
    getuid() == 0
      ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : []
  }

  private static func run(_ arguments: [String]) throws {
    let program = try TestProgram(arguments, output: .null, folder: "/tmp")
    let status = program.waitUntilEnd()
    guard status == 0 else {
      throw Failure(description: "\(arguments.joined(separator: " ")) has ended with \(status)")
    }
  }

  /// Starts the server, after ``kill()`` as well.
  package func start() throws {
    let settings = [
      "-k \(folder)", "-p 5432", "-c listen_addresses=", "-c max_connections=300",
      "-c fsync=\(isDurable ? "on" : "off")", "-c full_page_writes=\(isDurable ? "on" : "off")",
    ]
    let command =
      Self.user + [
        "\(programs)/pg_ctl", "-D", "\(folder)/data", "-w", "-t", "3600", "-l", "\(folder)/log",
        "-o",
        settings.joined(separator: " "), "start",
      ]
    // The processes of a server that was killed end when they notice. Until then, no other one starts.
    for _ in 0..<1_000 where (try? Self.run(command)) != nil { return }
    try Self.run(command)
  }

  /// Ends the server as a crash would, and waits until it has ended.
  package func kill() throws {
    let pid = try String(contentsOfFile: "\(folder)/data/postmaster.pid", encoding: .utf8)
    guard let number = pid.split(separator: "\n").first.flatMap({ Int32($0) }) else {
      throw Failure(description: "the server has no number")
    }
    // The processes of connections would serve them until they notice.
    let children = try String(
      contentsOfFile: "/proc/\(number)/task/\(number)/children", encoding: .utf8)
    for process in [number] + children.split(separator: " ").compactMap({ Int32($0) }) {
      Foundation.kill(process, SIGKILL)
    }
    try Self.run(["tail", "--pid=\(number)", "-s", "0.05", "-f", "/dev/null"])
  }

  /// The path of the socket.
  package var socket: String { "\(folder)/.s.PGSQL.5432" }

  /// The address of a database, for libpq.
  ///
  /// - Parameter folder: That of the socket; `nil` for the server itself.
  package func address(of database: String = "postgres", through folder: String? = nil) -> String {
    "host=\(folder ?? self.folder) port=5432 user=tandem dbname=\(database)"
  }

  /// Makes a database and returns its address.
  package func makeDatabase() throws -> String {
    let name = "t\(UUID().uuidString.prefix(8).lowercased())"
    try Self.run([
      "\(programs)/psql", "-X", "-q", address(), "-c", "CREATE DATABASE \(name)",
    ])
    return address(of: name)
  }

  /// Runs SQL in a database.
  package func run(_ sql: String, at address: String) throws {
    try Self.run(["\(programs)/psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", address, "-c", sql])
  }
}
