import Foundation

/// A PostgreSQL server in a temporary folder, reached by a Unix socket. It ends with this.
final class PostgreSQLServer {
  /// The address of its database, for libpq.
  var address: String { "host=\(folder) user=tandem dbname=postgres" }

  private let program: RunningProgram
  private let folder: String
  private let programs: String

  /// Starts a server, on the disk of the temporary folder.
  init() throws {
    let script = """
      set -euo pipefail
      source "$1"
      work=$(mktemp -d)
      end() {
        end_clusters
        rm -rf "$work"
      }
      trap end EXIT
      # The end of the input is the sign to end.
      trap : TERM
      make_cluster "$work/bench" "listen_addresses = ''" "max_connections = 150" "wal_level = logical"
      echo "$work/bench $programs"
      read -r _ || true
      """
    let clusters = try Program.built("CLUSTERS").path
    program = try RunningProgram(Program.system("bash"), ["-c", script, "bash", clusters])
    let words = try program.nextLine(withinMilliseconds: 60_000)?.split(separator: " ") ?? []
    guard words.count == 2 else { throw Program.Failure(description: "PostgreSQL does not start") }
    (folder, programs) = (String(words[0]), String(words[1]))
  }

  /// Runs SQL, and returns the rows that it wrote.
  @discardableResult
  func sql(_ text: String, in database: String = "postgres") throws -> String {
    try Program(path: "\(programs)/psql").output([
      "-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-h", folder, "-U", "tandem", "-d", database,
      "-c", text,
    ])
  }

  /// Lets clients run a script of pgbench, each with a connection; returns the milliseconds that a transaction took,
  /// those of all clients one after the other. The time to connect does not count.
  func pgbench(
    _ script: String, clients: Int, transactions: Int, variables: [String: Int]
  ) throws -> Double {
    let options = variables.flatMap { ["-D", "\($0)=\($1)"] }
    let output = try Program(path: "\(programs)/pgbench").output(
      [
        "-n", "-M", "prepared", "-f", script, "-c", String(clients), "-t", String(transactions),
        "-h", folder, "-U", "tandem",
      ] + options + ["postgres"])
    let line = output.split(separator: "\n").first { $0.hasPrefix("tps = ") }
    guard let rate = line?.split(separator: " ").dropFirst(2).first.flatMap({ Double($0) }) else {
      throw Program.Failure(description: "pgbench does not say how fast it was: \(output)")
    }
    return 1_000 / rate
  }
}
