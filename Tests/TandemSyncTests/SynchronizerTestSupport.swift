import TandemDifferences
import TandemSync

struct MergeItem: Hashable, Codable, Identifiable, Sendable, Comparable, CustomStringConvertible {
  var id: Int
  var value: Int

  init(_ id: Int, _ value: Int) {
    self.id = id
    self.value = value
  }

  static func < (a: MergeItem, b: MergeItem) -> Bool { (a.id, a.value) < (b.id, b.value) }

  var description: String { "\(id):\(value)" }
}

/// What may happen at one call of a remote.
enum RemoteFault: Sendable {
  /// The call never arrives.
  case loseRequest
  /// The call is carried out, but its answer never arrives.
  case loseReply
  /// Something else happens first.
  case first(@Sendable () async -> Void)
  /// The task is cancelled first.
  case cancel
}

struct ConnectionLost: Error, Equatable {}

/// A remote that counts its calls and has faults at some of them, given by the call's number.
actor FaultyRemote: ConditionalRemote {
  let remote: InMemoryRemote<MergeItem>
  let faults: [Int: RemoteFault]
  private(set) var callCount = 0
  private(set) var pushes: [ConditionalPush<MergeItem>] = []

  init(_ remote: InMemoryRemote<MergeItem>, faults: [Int: RemoteFault] = [:]) {
    self.remote = remote
    self.faults = faults
  }

  func pull() async throws -> (elements: [MergeItem], revision: RemoteRevision)? {
    try await call { await remote.pull() }
  }

  func push(
    _ contents: [MergeItem], difference: SetDifference<MergeItem>, at revision: RemoteRevision?,
    token: String
  ) async throws -> RemoteRevision? {
    pushes.append(
      ConditionalPush(
        condition: revision.map { .revision($0) } ?? .absent, contents: contents,
        difference: difference, token: PushToken(token)))
    return try await call {
      await remote.push(contents, difference: difference, at: revision, token: token)
    }
  }

  private func call<Answer>(_ body: () async -> Answer) async throws -> Answer {
    let fault = faults[callCount]
    callCount += 1
    switch fault {
    case .loseRequest: throw ConnectionLost()
    case .loseReply:
      _ = await body()
      throw ConnectionLost()
    case .first(let other): await other()
    case .cancel: withUnsafeCurrentTask { $0?.cancel() }
    case nil: break
    }
    return await body()
  }
}

/// Some devices that share one remote.
actor SynchronizationWorld {
  struct Device: Equatable {
    var client: [MergeItem] = []
    var shadow = RemoteShadow<MergeItem>()
  }

  let remote = InMemoryRemote<MergeItem>()
  var policy: MergePolicy<MergeItem>
  let epochPolicy: EpochPolicy
  var maxRoundCount = 8
  var pause: @Sendable (Int) async throws -> Void = { _ in }
  private(set) var devices: [Device]
  /// What a restarted device finds: what was saved last.
  private(set) var saved: [Device]
  /// All conflicts that were reported, of all devices.
  private(set) var reported: [MergeConflict<MergeItem>] = []
  private(set) var lastCallCount = 0
  private(set) var lastPushes: [ConditionalPush<MergeItem>] = []

  init(
    _ clients: [[MergeItem]], policy: MergePolicy<MergeItem> = .unresolved,
    epochPolicy: EpochPolicy = .union
  ) {
    devices = clients.map { Device(client: $0) }
    saved = devices
    self.policy = policy
    self.epochPolicy = epochPolicy
  }

  var remoteContents: (elements: [MergeItem], revision: RemoteRevision)? {
    get async { await remote.pull() }
  }

  func client(_ number: Int) -> [MergeItem] { devices[number].client }

  func change(_ number: Int, _ body: @Sendable (inout Device) -> Void) {
    body(&devices[number])
    saved[number] = devices[number]
  }

  func setPolicy(_ policy: MergePolicy<MergeItem>) { self.policy = policy }

  func setRounds(
    max count: Int, pause: @escaping @Sendable (Int) async throws -> Void
  ) {
    maxRoundCount = count
    self.pause = pause
  }

  /// A device's process ends, and starts again from what was saved.
  func restart(_ number: Int) { devices[number] = saved[number] }

  /// Synchronizes one device, in a task of its own.
  @discardableResult
  func synchronize(
    _ number: Int, faults: [Int: RemoteFault] = [:]
  ) async throws -> SynchronizationReport<MergeItem, Int> {
    try await Task { try await run(number, faults) }.value
  }

  private func run(
    _ number: Int, _ faults: [Int: RemoteFault]
  ) async throws -> SynchronizationReport<MergeItem, Int> {
    let faulty = FaultyRemote(remote, faults: faults)
    var synchronizer = Synchronizer(
      remote: faulty, identifiedBy: \.id, policy: policy, epochPolicy: epochPolicy,
      maxRoundCount: maxRoundCount, save: { await self.save(number, $0, $1) })
    synchronizer.pause = pause
    var device = devices[number]
    let result: Result<SynchronizationReport<MergeItem, Int>, any Error>
    do {
      result = .success(
        try await synchronizer.synchronize(client: &device.client, shadow: &device.shadow))
    } catch {
      result = .failure(error)
    }
    devices[number] = device
    if case .success(let report) = result {
      saved[number] = device
      reported += report.conflicts.map(\.conflict)
    }
    lastCallCount = await faulty.callCount
    lastPushes = await faulty.pushes
    return try result.get()
  }

  private func save(_ number: Int, _ client: [MergeItem], _ shadow: RemoteShadow<MergeItem>) {
    saved[number] = Device(client: client, shadow: shadow)
  }

  /// Synchronizes all devices in turn until nothing changes any more.
  func settle() async throws {
    for _ in 0..<10 {
      let before = devices
      for number in devices.indices { try await synchronize(number) }
      if devices == before { return }
    }
    throw SynchronizationError.tooManyRounds(10)
  }
}
