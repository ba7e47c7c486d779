import TandemDifferences
import TandemSync
import TestRandom
import Testing

@Suite("Synchronizer, every interleaving")
struct SynchronizerConvergenceTests {
  /// The record that all devices add to, the one that each deletes, and the ones they add.
  static let counter = 0
  static let doomed = 1

  enum Action: Equatable, Sendable {
    /// Adds a record of its own, adds to the counter and deletes the doomed record.
    case edit(Int)
    case synchronize(Int)
    /// The request of this call, counted from 0, is lost.
    case loseRequest(Int, at: Int)
    case loseReply(Int, at: Int)
    /// As a lost reply, and the process ends with it.
    case crash(Int, at: Int)
    case cancel(Int, at: Int)
    /// The second device synchronizes before this call of the first.
    case interrupt(Int, by: Int, at: Int)
    /// The remote is restored from what it has: nothing is lost, but the history is a new one.
    case restore
  }

  static let policy: MergePolicy<MergeItem> = .fieldwise(
    MergeField(\.value, .counter.then(.maximum)))

  /// Plays the actions, lets all devices settle, and checks that they agree and nothing is lost or
  /// counted twice.
  func play(_ actions: [Action], deviceCount: Int) async throws {
    let start = [MergeItem(Self.counter, 0), MergeItem(Self.doomed, 0)]
    let world = SynchronizationWorld(
      [start] + Array(repeating: [], count: deviceCount - 1), policy: Self.policy)
    try await world.settle()
    var added: [Int] = []
    for action in actions {
      if case .edit(let device) = action {
        let id = 10 + added.count
        let amount = 1 << added.count
        await world.change(device) { $0.edit(adding: id, counting: amount) }
        added.append(id)
      } else {
        await perform(action, in: world)
      }
    }
    try await world.settle()
    let result = await world.client(0)
    for device in 1..<deviceCount {
      try #require(await world.client(device) == result, "\(actions)")
    }
    try #require(await world.remoteContents?.elements == result, "\(actions)")
    try #require(Set(result.map(\.id)).isSuperset(of: added), "\(actions)")
    guard !actions.contains(.restore) else { return }
    try #require(result.contains(MergeItem(Self.counter, 1 << added.count - 1)), "\(actions)")
    try #require(result.count == added.count + (added.isEmpty ? 2 : 1), "\(actions)")
  }

  func perform(_ action: Action, in world: SynchronizationWorld) async {
    switch action {
    case .edit: break
    case .restore:
      await world.remote.restart(with: world.remoteContents?.elements ?? [])
    case .synchronize(let device): _ = try? await world.synchronize(device)
    case .loseRequest(let device, let call):
      _ = try? await world.synchronize(device, faults: [call: .loseRequest])
    case .loseReply(let device, let call):
      _ = try? await world.synchronize(device, faults: [call: .loseReply])
    case .crash(let device, let call):
      _ = try? await world.synchronize(device, faults: [call: .loseReply])
      await world.restart(device)
    case .cancel(let device, let call):
      _ = try? await world.synchronize(device, faults: [call: .cancel])
    case .interrupt(let device, let other, let call):
      let fault = RemoteFault.first { _ = try? await world.synchronize(other) }
      _ = try? await world.synchronize(device, faults: [call: fault])
    }
  }

  /// Plays every sequence of `length` of the actions, each after the same ones.
  func playAll(
    _ actions: [Action], after first: [Action] = [], length: Int, deviceCount: Int
  ) async throws {
    var indices = Array(repeating: 0, count: length)
    while true {
      try await play(first + indices.map { actions[$0] }, deviceCount: deviceCount)
      guard let last = indices.lastIndex(where: { $0 < actions.count - 1 }) else { return }
      indices[last] += 1
      for later in indices.indices where later > last { indices[later] = 0 }
    }
  }

  @Test("two devices converge, count exactly once and lose nothing when messages are lost")
  func lostMessages() async throws {
    let actions: [Action] = [
      .edit(0), .edit(1), .synchronize(0), .synchronize(1), .loseReply(0, at: 0),
      .loseRequest(0, at: 0), .crash(1, at: 0),
    ]
    try await playAll(actions, length: 4, deviceCount: 2)
    // Of the longer ones, those that begin with nothing to send are like one of these.
    for first in [Action.edit(0), .edit(1)] {
      try await playAll(actions, after: [first], length: 4, deviceCount: 2)
    }
  }

  @Test("three devices converge when their synchronizations interrupt each other")
  func interruptions() async throws {
    try await playAll(
      [
        .edit(0), .edit(1), .edit(2), .synchronize(2), .interrupt(0, by: 1, at: 0),
        .interrupt(1, by: 2, at: 2),
      ], length: 4, deviceCount: 3)
  }

  @Test("a conflict between two edits survives a fault at each step of the merge")
  func everyStep() async throws {
    for call in 0..<4 {
      for fault in [
        Action.loseRequest(0, at: call), .loseReply(0, at: call), .crash(0, at: call),
        .cancel(0, at: call), .interrupt(0, by: 1, at: call),
      ] {
        for before in [[], [Action.edit(1)], [.edit(1), .synchronize(1)]] {
          for after in [[], [Action.edit(0)], [.edit(1), .synchronize(1)], [fault]] {
            try await play([.edit(0)] + before + [fault] + after, deviceCount: 2)
          }
        }
      }
    }
  }

  @Test("two devices converge and lose no record when the remote is restored")
  func epochs() async throws {
    try await playAll(
      [.edit(0), .edit(1), .synchronize(0), .loseReply(1, at: 0), .restore], length: 4,
      deviceCount: 2)
  }

  @Test("long histories of four devices converge", arguments: 0..<60)
  func seeds(seed: Int) async throws {
    var generator = SplitMix64(seed: seed)
    var actions: [Action] = []
    for _ in 0..<40 {
      let device = Int.random(in: 0..<4, using: &generator)
      let other = (device + Int.random(in: 1..<4, using: &generator)) % 4
      let call = Int.random(in: 0..<4, using: &generator)
      let choices: [Action] = [
        .edit(device), .edit(device), .synchronize(device), .loseRequest(device, at: call),
        .loseReply(device, at: call), .crash(device, at: call), .cancel(device, at: call),
        .interrupt(device, by: other, at: call),
      ]
      actions += choices.randomElement(using: &generator).map { [$0] } ?? []
    }
    try await play(actions, deviceCount: 4)
  }

  @Test(
    "whatever calls fail, each conflict that a push resolved is reported once", arguments: 0..<40)
  func reports(seed: Int) async throws {
    var generator = SplitMix64(seed: seed)
    let world = SynchronizationWorld([[MergeItem(0, 0)], []], policy: .keepLocal)
    try await world.settle()
    for round in 1...8 {
      await world.change(0) { $0.client[0].value = 2 * round }
      try await world.synchronize(0)
      await world.change(1) { $0.client[0].value = 2 * round + 1 }
      var reported: [MergeConflict<MergeItem>] = []
      for _ in 0..<Int.random(in: 0..<4, using: &generator) {
        let fault: RemoteFault = Bool.random(using: &generator) ? .loseReply : .loseRequest
        let call = Int.random(in: 0..<3, using: &generator)
        let report = try? await world.synchronize(1, faults: [call: fault])
        reported += report?.conflicts.map(\.conflict) ?? []
      }
      reported += try await world.synchronize(1).conflicts.map(\.conflict)
      #expect(
        reported.map(\.local) == [MergeItem(0, 2 * round + 1)], "seed \(seed), round \(round)")
      try await world.synchronize(0)
    }
  }

  @Test("cancellation before anything is sent sends nothing")
  func cancelled() async throws {
    let world = SynchronizationWorld([[MergeItem(1, 0)]])
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      var client = [MergeItem(1, 0)]
      var shadow = RemoteShadow<MergeItem>()
      let synchronizer = Synchronizer(
        remote: world.remote, identifiedBy: \.id, policy: .unresolved, epochPolicy: .union)
      _ = try await synchronizer.synchronize(client: &client, shadow: &shadow)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(await world.remoteContents == nil)
  }

  @Test("cancellation between two steps ends the synchronization and loses nothing")
  func cancelledMidway() async throws {
    let world = SynchronizationWorld([[MergeItem(1, 0)], []], policy: .keepLocal)
    try await world.settle()
    await world.change(0) { $0.client[0].value = 5 }
    try await world.synchronize(0)
    await world.change(1) { $0.client[0].value = 6 }
    // Push, pull, push: cancelled during the first two, there is a next step to refuse.
    for call in 0..<2 {
      await #expect(throws: CancellationError.self) {
        try await world.synchronize(1, faults: [call: .cancel])
      }
      #expect(await world.client(1) == [MergeItem(1, 6)])
      #expect(await world.remoteContents?.elements == [MergeItem(1, 5)])
    }
    try await world.settle()
    #expect(await world.client(0) == [MergeItem(1, 6)])
  }
}

extension SynchronizationWorld.Device {
  /// Adds a record, adds to the counter and deletes the doomed record. Each edit counts another
  /// power of two, so the counter tells which edits are in it.
  fileprivate mutating func edit(adding id: Int, counting amount: Int) {
    client.append(MergeItem(id, 0))
    client.removeAll { $0.id == SynchronizerConvergenceTests.doomed }
    let index = client.firstIndex { $0.id == SynchronizerConvergenceTests.counter }
    if let index { client[index].value += amount }
  }
}
