import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite

struct ScriptedItem: Identifiable, Hashable, Sendable {
  var id: Int
}

struct ScriptedError: Error, Hashable, CustomStringConvertible {
  var description = "scripted"
}

/// A processor that does what a script says at each call, and writes down all calls.
///
/// Calls are named `begin`, `localIDs`, `source`, `update 1,2`, `prepare 1,2`, `content 1`,
/// `remove 3` and `end`.
final class ScriptedProcessor: Sendable {
  /// What a call does.
  enum Act: Sendable {
    case fail
    /// Fails as many times, then succeeds.
    case failTimes(Int)
    case hang
    case perform(@Sendable () async throws -> Void)
  }

  struct Log: Sendable, Equatable {
    var calls: [String] = []
    var activeTransferCount = 0
    var maxActiveTransferCount = 0
    var wasTransferringAtEnd = false
    var wasCancelledAtEnd = false
    var attemptCounts: [String: Int] = [:]
    var local: Set<Int> = []
  }

  let items: [Int]
  let updates: Set<Int>
  let byteCount: Int
  /// Which items lose something when they are transferred.
  let losses: Set<Int>
  let maxTransferCount: Int
  let script: Locked<[String: Act]>
  let log: Locked<Log>
  let reports = Locked<[MirrorReport<Int>]>([])

  init(
    source: [Int], local: Set<Int>, updates: Set<Int> = [], byteCount: Int = 0,
    losses: Set<Int> = [], maxTransferCount: Int = .max, script: [String: Act] = [:]
  ) {
    self.maxTransferCount = maxTransferCount
    items = source
    self.losses = losses
    self.updates = updates
    self.byteCount = byteCount
    self.script = Locked(script)
    log = Locked(Log(local: local))
  }

  var calls: [String] { log.current.calls }

  func count(of call: String) -> Int { calls.count { $0 == call } }

  private func call(_ name: String) async throws {
    let attempt = log.withLock { log in
      log.calls.append(name)
      log.attemptCounts[name, default: 0] += 1
      return log.attemptCounts[name] ?? 0
    }
    switch script.current[name] {
    case nil: break
    case .fail: throw ScriptedError()
    case .failTimes(let count): if attempt <= count { throw ScriptedError() }
    case .hang: try await TandemMirrorTests.hang()
    case .perform(let body): try await body()
    }
  }

  /// The processor that makes these calls.
  var processor: MirrorProcessor<ScriptedItem> {
    var processor = MirrorProcessor<ScriptedItem>(
      list: { [self] in
        try await call("source")
        return MirrorPages(items.map { ScriptedItem(id: $0) })
      },
      local: { [self] in
        try await call("localIDs")
        return MirrorPages(log.current.local.sorted())
      }, transfer: transfer, remove: remove)
    processor.begin = { [self] in try await call("begin") }
    processor.itemsToUpdate = { [self] items in
      try await call("update \(Self.list(items.map(\.id)))")
      return items.indices.filter { updates.contains(items[$0].id) }
    }
    processor.lossCount = { [losses] items in items.count { losses.contains($0.id) } }
    processor.prepare = { [self] items in
      try await call("prepare \(Self.list(items.map(\.id)))")
      return items
    }
    processor.end = end
    processor.maxTransferCount = maxTransferCount
    return processor
  }

  @Sendable private func transfer(
    _ item: ScriptedItem, in stage: MirrorStage, progress: MirrorTransferProgress
  ) async throws {
    log.withLock {
      $0.activeTransferCount += 1
      $0.maxActiveTransferCount = max($0.maxActiveTransferCount, $0.activeTransferCount)
    }
    defer { log.withLock { $0.activeTransferCount -= 1 } }
    progress.add(byteCount: byteCount)
    try await call("\(stage) \(item.id)")
    _ = log.withLock { $0.local.insert(item.id) }
  }

  @Sendable private func remove(_ ids: [Int]) async throws {
    try await call("remove \(Self.list(ids))")
    log.withLock { $0.local.subtract(ids) }
  }

  @Sendable private func end(_ report: MirrorReport<Int>) async throws {
    reports.withLock { $0.append(report) }
    log.withLock {
      $0.wasTransferringAtEnd = $0.activeTransferCount > 0
      $0.wasCancelledAtEnd = Task.isCancelled
    }
    try await call("end")
  }

  static func list(_ ids: [Int]) -> String { ids.map(String.init).joined(separator: ",") }
}
