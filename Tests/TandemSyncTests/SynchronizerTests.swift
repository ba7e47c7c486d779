import Foundation
import TandemDifferences
import TandemSync
import Testing

@Suite("Synchronizer, by example")
struct SynchronizerTests {
  static let start = (1...3).map { MergeItem($0, 0) }

  /// Devices in step with the remote and with each other.
  func world(
    _ count: Int = 2, policy: MergePolicy<MergeItem> = .unresolved,
    epochPolicy: EpochPolicy = .union
  ) async throws -> SynchronizationWorld {
    let world = SynchronizationWorld(
      [Self.start] + Array(repeating: [], count: count - 1), policy: policy,
      epochPolicy: epochPolicy)
    try await world.settle()
    return world
  }

  @Test("the first client creates the contents, on condition that there are none")
  func creation() async throws {
    let world = SynchronizationWorld([Self.start])
    let report = try await world.synchronize(0)
    #expect(await world.remoteContents?.elements == Self.start)
    #expect(await world.lastPushes.map(\.condition) == [.absent])
    #expect(report.revision == RemoteRevision(epoch: "1", commit: "1"))
    #expect(report.toClient.isEmpty && report.roundCount == 1)
  }

  @Test("a client with nothing creates nothing")
  func nothingToCreate() async throws {
    let world = SynchronizationWorld([[]])
    let report = try await world.synchronize(0)
    #expect(report == SynchronizationReport(roundCount: 1))
    #expect(await world.remoteContents == nil)
  }

  @Test("of two clients that create at once, the second merges with the first")
  func racingCreation() async throws {
    let world = SynchronizationWorld([[MergeItem(1, 0)], [MergeItem(2, 0)]])
    let other = RemoteFault.first { _ = try? await world.synchronize(1) }
    let report = try await world.synchronize(0, faults: [1: other])
    #expect(report.roundCount == 2)
    #expect(await Set(world.remoteContents?.elements ?? []) == [MergeItem(1, 0), MergeItem(2, 0)])
    #expect(await world.remoteContents?.revision.epoch == "1")
  }

  @Test("if nobody else pushed, one push is all, and nobody is asked")
  func pushWithoutPull() async throws {
    let world = try await world()
    await world.change(0) { $0.client[0].value = 5 }
    let report = try await world.synchronize(0)
    #expect(await world.lastCallCount == 1)
    #expect(report.conflicts.isEmpty && report.roundCount == 1)
    #expect(await world.remoteContents?.elements.first == MergeItem(1, 5))
  }

  @Test("a client without edits only pulls")
  func readOnly() async throws {
    let world = try await world()
    await world.change(0) { $0.client[0].value = 5 }
    try await world.synchronize(0)
    let report = try await world.synchronize(1)
    #expect(await world.lastPushes.isEmpty)
    #expect(report.toClient.updated == [.init(old: MergeItem(1, 0), new: MergeItem(1, 5))])
    #expect(await world.client(1) == world.client(0))
  }

  @Test("a rejected push pulls, merges and pushes again, and asks only about true conflicts")
  func rejected() async throws {
    let world = try await world(policy: .keepLocal)
    await world.change(0) { $0.client = [MergeItem(1, 5), MergeItem(2, 5), MergeItem(3, 0)] }
    try await world.synchronize(0)
    await world.change(1) { $0.client = [MergeItem(1, 0), MergeItem(2, 7), MergeItem(4, 7)] }
    let report = try await world.synchronize(1)
    #expect(report.roundCount == 2)
    #expect(report.conflicts.map(\.id) == [2])
    let expected = [MergeItem(1, 5), MergeItem(2, 7), MergeItem(4, 7)]
    #expect(await world.client(1) == expected)
    #expect(await world.remoteContents?.elements == expected)
  }

  @Test("a push says in full and in part what it changes")
  func push() async throws {
    let world = try await world()
    await world.change(0) { $0.client = [MergeItem(1, 5), MergeItem(2, 0), MergeItem(9, 0)] }
    try await world.synchronize(0)
    let push = try #require(await world.lastPushes.first)
    let start = Dictionary(uniqueKeysWithValues: Self.start.map { ($0.id, $0) })
    #expect(push.difference.applying(to: start).map { Set($0.values) } == Set(push.contents))
  }

  @Test("a lost reply is recognised as one's own commit, and a newer edit is not overwritten")
  func lostReply() async throws {
    let world = try await world(policy: .keepLocal)
    await world.change(0) { $0.client[0].value = 5 }
    await #expect(throws: ConnectionLost.self) {
      try await world.synchronize(0, faults: [0: .loseReply])
    }
    try await world.synchronize(1)
    await world.change(1) { $0.client[0].value = 6 }
    try await world.synchronize(1)
    let report = try await world.synchronize(0)
    #expect(report.conflicts.isEmpty)
    #expect(await world.client(0).first == MergeItem(1, 6))
    #expect(await world.remoteContents?.elements.first == MergeItem(1, 6))
  }

  @Test("edits made after a lost reply are merged over what was pushed")
  func editAfterLostReply() async throws {
    let world = try await world()
    await world.change(1) { $0.client[2].value = 8 }
    try await world.synchronize(1)
    await world.change(0) { $0.client[0].value = 5 }
    // The first push is rejected; the reply to the second, merged one is lost.
    await #expect(throws: ConnectionLost.self) {
      try await world.synchronize(0, faults: [2: .loseReply])
    }
    await world.change(0) { $0.client[1].value = 6 }
    try await world.synchronize(0)
    let expected = [MergeItem(1, 5), MergeItem(2, 6), MergeItem(3, 8)]
    #expect(await world.client(0) == expected)
    #expect(await world.remoteContents?.elements == expected)
  }

  @Test("an edit after a lost reply that contradicts what came with it is a conflict")
  func conflictAfterLostReply() async throws {
    for policy in [MergePolicy<MergeItem>.unresolved, .keepLocal] {
      let world = try await world(policy: policy)
      await world.change(1) { $0.client[2].value = 8 }
      try await world.synchronize(1)
      await world.change(0) { $0.client[0].value = 5 }
      _ = try? await world.synchronize(0, faults: [2: .loseReply])
      await world.change(0) { $0.client[2].value = 7 }
      let report = try await world.synchronize(0)
      #expect(
        report.conflicts.map(\.conflict)
          == [.editEdit(base: MergeItem(3, 0), local: MergeItem(3, 7), remote: MergeItem(3, 8))])
      #expect(await world.client(0).last == MergeItem(3, 7))
      let isOpen = !report.conflicts[0].resolution.isUnresolved
      #expect(await world.remoteContents?.elements.last == MergeItem(3, isOpen ? 7 : 8))
    }
  }

  @Test("resolved conflicts are reported exactly once, by the first call that succeeds")
  func reportAfterLostReply() async throws {
    let expected = MergeConflict<MergeItem>.editEdit(
      base: MergeItem(1, 0), local: MergeItem(1, 6), remote: MergeItem(1, 5))
    // The push without a pull is rejected; then a pull, a merge, and a push whose reply is lost.
    // The faults of the second call fail before, at and after the repetition of that push.
    for failing in [
      [:], [0: RemoteFault.loseRequest], [1: .loseReply], [0: .loseReply, 1: .cancel],
    ] {
      let world = try await world(policy: .keepLocal)
      await world.change(0) { $0.client[0].value = 5 }
      try await world.synchronize(0)
      await world.change(1) { $0.client[0].value = 6 }
      await #expect(throws: ConnectionLost.self) {
        try await world.synchronize(1, faults: [2: .loseReply])
      }
      if !failing.isEmpty { _ = try? await world.synchronize(1, faults: failing) }
      let report = try await world.synchronize(1)
      #expect(report.conflicts.map(\.conflict) == [expected])
      #expect(report.conflicts.map(\.id) == [1] && report.conflicts[0].resolution == .local)
      #expect(try await world.synchronize(1).conflicts.isEmpty)
      #expect(await world.remoteContents?.elements.first == MergeItem(1, 6))
    }
  }

  @Test("a conflict that repeating a push resolves is reported even if the next pull fails")
  func reportAfterFailedPull() async throws {
    let world = try await world(policy: .keepLocal)
    await world.change(1) { $0.client[2].value = 8 }
    try await world.synchronize(1)
    await world.change(0) { $0.client[0].value = 5 }
    _ = try? await world.synchronize(0, faults: [2: .loseReply])
    await world.change(0) { $0.client[2].value = 7 }
    // Repeats the push, which resolves the conflict with the newer edit; the next call fails.
    await #expect(throws: ConnectionLost.self) {
      try await world.synchronize(0, faults: [1: .loseRequest])
    }
    let report = try await world.synchronize(0)
    #expect(
      report.conflicts.map(\.conflict)
        == [.editEdit(base: MergeItem(3, 0), local: MergeItem(3, 7), remote: MergeItem(3, 8))])
    #expect(try await world.synchronize(0).conflicts.isEmpty)
    #expect(await world.remoteContents?.elements.last == MergeItem(3, 7))
  }

  @Test("a lost request is repeated under its token")
  func lostRequest() async throws {
    let world = try await world()
    await world.change(0) { $0.client[0].value = 5 }
    _ = try? await world.synchronize(0, faults: [0: .loseRequest])
    let first = await world.lastPushes
    try await world.synchronize(0)
    #expect(await world.lastPushes == first)
    #expect(await world.remoteContents?.elements.first == MergeItem(1, 5))
  }

  @Test("a failing remote changes nothing, and is not taken for an empty one")
  func failingPull() async throws {
    let world = try await world()
    let before = await world.devices
    await #expect(throws: ConnectionLost.self) {
      try await world.synchronize(0, faults: [0: .loseReply])
    }
    #expect(await world.devices == before)
    #expect(await world.remoteContents?.elements == Self.start)
  }

  @Test("contents in which an identity occurs twice are an error on either side")
  func duplicates() async throws {
    let world = try await world()
    await world.remote.restart(with: [MergeItem(1, 0), MergeItem(1, 1)])
    await #expect(throws: MergeError.identity(side: .remote, offset: 1, kind: .duplicate)) {
      try await world.synchronize(0)
    }
    #expect(await world.client(0) == Self.start)
    await world.change(0) { $0.client.append(MergeItem(1, 1)) }
    await #expect(throws: MergeError.identity(side: .local, offset: 3, kind: .duplicate)) {
      try await world.synchronize(0)
    }
  }

  @Test("rounds are bounded, and paused between")
  func bounded() async throws {
    let world = try await world()
    let pauses = Pauses()
    await world.setRounds(max: 3) { await pauses.add($0) }
    await world.change(0) { $0.client[0].value = 5 }
    let other = RemoteFault.first {
      await world.change(1) { $0.client.append(MergeItem($0.client.count + 10, 0)) }
      _ = try? await world.synchronize(1)
    }
    await #expect(throws: SynchronizationError.tooManyRounds(3)) {
      try await world.synchronize(0, faults: [0: other, 2: other, 4: other])
    }
    #expect(await pauses.rounds == [2, 3])
    #expect(await world.client(0).first == MergeItem(1, 5))
    try await world.settle()
    #expect(await world.remoteContents?.elements.count == 6)
    #expect(await world.client(1).first == MergeItem(1, 5))
  }

  @Test("rounds are paused by default: rejected pushes are not repeated at once")
  func pausedByDefault() async throws {
    let synchronizer = Synchronizer(
      remote: InMemoryRemote<MergeItem>(), identifiedBy: \.id, policy: .unresolved,
      epochPolicy: .union)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await synchronizer.pause(.max)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test("an open conflict leaves both versions where they are, until it is settled by hand")
  func openConflict() async throws {
    let world = try await world()
    await world.change(0) { $0.client[0].value = 5 }
    try await world.synchronize(0)
    await world.change(1) {
      $0.client[0].value = 6
      $0.client[1].value = 6
    }
    for _ in 0..<3 {
      let report = try await world.synchronize(1)
      #expect(
        report.conflicts.map(\.conflict)
          == [.editEdit(base: MergeItem(1, 0), local: MergeItem(1, 6), remote: MergeItem(1, 5))])
      #expect(await world.client(1) == [MergeItem(1, 6), MergeItem(2, 6), MergeItem(3, 0)])
      #expect(
        await world.remoteContents?.elements
          == [MergeItem(1, 5), MergeItem(2, 6), MergeItem(3, 0)])
      #expect(await world.devices[1].shadow.openConflicts == report.conflicts.map(\.conflict))
    }
    await world.change(1) {
      $0.client[0].value = 11
      $0.shadow.openConflicts = []
    }
    #expect(try await world.synchronize(1).conflicts.isEmpty)
    #expect(await world.remoteContents?.elements.first == MergeItem(1, 11))
  }

  @Test("a client's order stays while conflicts are open")
  func orderWithOpenConflicts() async throws {
    let world = try await world()
    await world.change(0) { $0.client = [MergeItem(1, 5), MergeItem(3, 0)] }
    try await world.synchronize(0)
    await world.change(1) { $0.client = [MergeItem(1, 6), MergeItem(2, 6), MergeItem(3, 0)] }
    try await world.synchronize(1)
    let reordered = [MergeItem(3, 0), MergeItem(2, 6), MergeItem(1, 6)]
    await world.change(1) { $0.client = reordered }
    let report = try await world.synchronize(1)
    #expect(Set(report.unresolved.map(\.kind)) == [.editDelete, .editEdit])
    #expect(await world.client(1) == reordered)
  }

  @Test("a client's order stays if the remote has an addition of an unconfirmed push")
  func orderAfterUnconfirmedPush() async throws {
    let world = try await world()
    await world.change(1) { $0.client.insert(MergeItem(9, 0), at: 0) }
    try await world.synchronize(1)
    let reordered = [9, 3, 2, 1].map { MergeItem($0, 0) }
    await world.change(0) {
      $0.client = reordered
      $0.shadow.unconfirmed = [SetDifference(inserted: [MergeItem(9, 0)])]
    }
    try await world.synchronize(0)
    #expect(await world.client(0) == reordered)
  }

  @Test("a reply lost while a conflict is open leaves either side its version")
  func lostReplyWithOpenConflict() async throws {
    let world = try await world()
    await world.change(0) { $0.client[0].value = 5 }
    try await world.synchronize(0)
    await world.change(1) { $0.client = [MergeItem(1, 6), MergeItem(2, 6), MergeItem(3, 0)] }
    _ = try? await world.synchronize(1, faults: [2: .loseReply])
    let report = try await world.synchronize(1)
    #expect(report.unresolved.map(\.kind) == [.editEdit])
    #expect(await world.client(1) == [MergeItem(1, 6), MergeItem(2, 6), MergeItem(3, 0)])
    #expect(
      await world.remoteContents?.elements == [MergeItem(1, 5), MergeItem(2, 6), MergeItem(3, 0)])
  }

  @Test("open conflicts of every kind stay open over further synchronizations")
  func openConflictKinds() async throws {
    let world = try await world()
    await world.change(0) { $0.client = [MergeItem(1, 5), MergeItem(3, 5), MergeItem(4, 5)] }
    try await world.synchronize(0)
    await world.change(1) { $0.client = [MergeItem(1, 6), MergeItem(2, 6), MergeItem(4, 6)] }
    for round in 0..<3 {
      await world.change(0) { $0.client.append(MergeItem(10 + round, 0)) }
      try await world.synchronize(0)
      let report = try await world.synchronize(1)
      #expect(
        Set(report.unresolved.map(\.kind)) == Set(MergeConflict<MergeItem>.Kind.allCases))
      #expect(await Set(world.client(1)).isSuperset(of: [1, 2, 4].map { MergeItem($0, 6) }))
      #expect(
        await Set(world.remoteContents?.elements ?? [])
          .isSuperset(of: [1, 3, 4].map { MergeItem($0, 5) }))
    }
    await world.setPolicy(.editBeatsDelete.then(.keepLocal))
    try await world.settle()
    #expect(
      await Set(world.client(0).filter { $0.id < 10 })
        == [MergeItem(1, 6), MergeItem(2, 6), MergeItem(3, 5), MergeItem(4, 6)])
  }

  @Test("a shadow survives being saved as text")
  func codable() async throws {
    let world = try await world()
    await world.change(0) { $0.client[0].value = 5 }
    try await world.synchronize(0)
    await world.change(1) { $0.client[0].value = 6 }
    try await world.synchronize(1)
    await world.change(1) { $0.client[1].value = 6 }
    _ = try? await world.synchronize(1, faults: [1: .loseReply])
    let shadow = await world.devices[1].shadow
    #expect(!shadow.openConflicts.isEmpty && shadow.pendingPush != nil)
    let data = try JSONEncoder().encode(shadow)
    #expect(try JSONDecoder().decode(RemoteShadow<MergeItem>.self, from: data) == shadow)
  }

  @Test("the resolver answers what the policy leaves, and the answer reaches the remote")
  func resolver() async throws {
    let world = try await world()
    await world.change(0) { $0.client[0].value = 5 }
    try await world.synchronize(0)
    await world.change(1) { $0.client[0].value = 6 }
    var device = await world.devices[1]
    let synchronizer = Synchronizer(
      remote: world.remote, identifiedBy: \.id, policy: .editBeatsDelete, epochPolicy: .union,
      resolver: { conflict in
        await Task.yield()
        return .merged(MergeItem(1, (conflict.local?.value ?? 0) + (conflict.remote?.value ?? 0)))
      })
    try await synchronizer.synchronize(client: &device.client, shadow: &device.shadow)
    #expect(device.client.first == MergeItem(1, 11))
    #expect(await world.remoteContents?.elements.first == MergeItem(1, 11))
  }
}

/// The rounds that were paused before.
private actor Pauses {
  private(set) var rounds: [Int] = []

  func add(_ round: Int) { rounds.append(round) }
}

extension SynchronizationReport {
  var unresolved: [MergeConflict<Element>] {
    conflicts.filter(\.resolution.isUnresolved).map(\.conflict)
  }
}
