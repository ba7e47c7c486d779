import Synchronization
import Tandem

/// The settings of a phone's process.
struct PhoneSettings: Codable, Sendable {
  var name: String
  var folder: String
  /// The address of the server of the space.
  var server: String
  /// The port of the page, which may use the phone.
  var page: Int
}

/// The phones as processes: started, killed and started again.
final class Phones: Sendable {
  static let names = ["a", "b"]

  private let program: String
  private let stage: Stage
  private let settings: PhoneSettings
  private let servers: [String]
  private let running = Mutex<[String: PhoneProcess]>([:])
  private let starts:
    [String: (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation)]

  /// Phones with these settings but the name and the server, shown on a stage.
  init(program: String, settings: PhoneSettings, servers: [String], stage: Stage) {
    self.servers = servers
    self.program = program
    self.settings = settings
    self.stage = stage
    starts = Dictionary(
      uniqueKeysWithValues: Phones.names.map {
        ($0, AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)))
      })
  }

  /// Runs the phones until the task is cancelled, and waits for their end.
  func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, name) in Phones.names.enumerated() {
        let server = servers[number % servers.count]
        group.addTask { try await self.run(name, server: server) }
      }
      try await group.waitForAll()
    }
  }

  /// Kills a phone by `kill -9`.
  func kill(_ name: String) {
    running.withLock { $0[name] }?.kill()
  }

  /// Starts a phone, unless it runs.
  func start(_ name: String) {
    guard running.withLock({ $0[name] == nil }) else { return }
    starts[name]?.continuation.yield()
  }

  private func run(_ name: String, server: String) async throws {
    guard let start = starts[name] else { return }
    start.continuation.yield()
    var settings = settings
    (settings.name, settings.server) = (name, server)
    for await _ in start.stream {
      let (process, address) = try await PhoneProcess.start(
        program, ["demo", "--phone"], settings: JSON.object(settings))
      var row = PhoneRow(
        name: name, title: "Phone \(name.uppercased())", address: address, pid: Int(process.pid),
        isRunning: true, statement: Phones.change(Phone.file(name, in: settings.folder)))
      running.withLock { $0[name] = process }
      try await stage.show(row)
      await process.ended()
      running.withLock { $0[name] = nil }
      row.isRunning = false
      try await stage.show(row)
    }
  }

  /// A line for a shell that changes the file of a phone.
  static func change(_ path: String) -> String {
    "sqlite3 \(quoted(path)) \"UPDATE player SET score = score + 100\""
  }

  /// A line for a shell that shows the first players of the file of a phone.
  static func look(_ path: String) -> String {
    "sqlite3 \(quoted(path)) \"SELECT score, name FROM player ORDER BY score DESC LIMIT 3\""
  }

  private static func quoted(_ path: String) -> String {
    "'\(path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'"
  }
}
