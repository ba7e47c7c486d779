import TandemDifferences
import TandemSync
import Testing

@Suite("Synchronizer, when the remote's history is a new one")
struct SynchronizerEpochTests {
  static let start = (1...3).map { MergeItem($0, 0) }
  static let restored = [MergeItem(1, 0), MergeItem(2, 7), MergeItem(9, 7)]

  /// A device in step, then edited, whose remote was restored.
  func world(_ epochPolicy: EpochPolicy, isRemoved: Bool = false) async throws
    -> SynchronizationWorld
  {
    let world = SynchronizationWorld(
      [Self.start], policy: .keepLocal, epochPolicy: epochPolicy)
    try await world.settle()
    await world.change(0) { $0.client = [MergeItem(1, 0), MergeItem(2, 5), MergeItem(4, 5)] }
    if isRemoved {
      await world.remote.remove()
    } else {
      await world.remote.restart(with: Self.restored)
    }
    return world
  }

  @Test("a union keeps all records of both sides, and versions that differ are a conflict")
  func union() async throws {
    let world = try await world(.union)
    let report = try await world.synchronize(0)
    #expect(report.epochDecision == .union)
    #expect(report.conflicts.map(\.conflict.kind) == [.addAdd])
    let expected = [MergeItem(1, 0), MergeItem(2, 5), MergeItem(4, 5), MergeItem(9, 7)]
    #expect(await world.client(0) == expected)
    #expect(await world.remoteContents?.elements == expected)
  }

  @Test("adopting the remote gives up what the client has, and says so")
  func adoptRemote() async throws {
    let world = try await world(.adoptRemote)
    let report = try await world.synchronize(0)
    #expect(report.epochDecision == .adoptRemote)
    #expect(await world.client(0) == Self.restored)
    #expect(report.toClient.deleted == [MergeItem(4, 5)])
    #expect(await world.remoteContents?.elements == Self.restored)
  }

  @Test("adopting the client's contents replaces the remote's, conditionally")
  func adoptLocal() async throws {
    let world = try await world(.adoptLocal)
    let report = try await world.synchronize(0)
    #expect(report.epochDecision == .adoptLocal)
    let expected: Set = [MergeItem(1, 0), MergeItem(2, 5), MergeItem(4, 5)]
    #expect(await Set(world.client(0)) == expected)
    #expect(await Set(world.remoteContents?.elements ?? []) == expected)
    #expect(
      await world.lastPushes.last?.condition == .revision(RemoteRevision(epoch: "2", commit: "2")))
  }

  @Test("the policy learns what was known and what was found")
  func question() async throws {
    for isRemoved in [false, true] {
      let world = try await world(
        EpochPolicy { known, found in throw Asked(known: known, found: found) },
        isRemoved: isRemoved)
      let before = await world.devices
      let expected = Asked(known: "1", found: isRemoved ? nil : "2")
      await #expect(throws: expected) { try await world.synchronize(0) }
      #expect(await world.devices == before)
    }
  }

  @Test("a remote that was removed is created again, on condition that it is still absent")
  func removed() async throws {
    for policy in [EpochPolicy.union, .adoptLocal] {
      let world = try await world(policy, isRemoved: true)
      let client = await world.client(0)
      try await world.synchronize(0)
      #expect(await world.lastPushes.last?.condition == .absent)
      #expect(await world.remoteContents?.elements == client)
      #expect(await world.remoteContents?.revision.epoch == "2")
    }
  }

  @Test("a remote that was removed cannot be adopted")
  func nothingToAdopt() async throws {
    let world = try await world(.adoptRemote, isRemoved: true)
    let client = await world.client(0)
    await #expect(throws: SynchronizationError.nothingToAdopt) { try await world.synchronize(0) }
    #expect(await world.client(0) == client)
  }

  @Test("a remote reset to empty does not empty its clients")
  func reset() async throws {
    let world = try await world(.union)
    await world.remote.restart(with: [])
    let client = await world.client(0)
    try await world.synchronize(0)
    #expect(await world.client(0) == client)
    #expect(await world.remoteContents?.elements == client)
  }

  @Test("a push whose reply was lost before the epoch changed is settled first")
  func lostReplyThenEpoch() async throws {
    let world = SynchronizationWorld([Self.start], policy: .keepRemote, epochPolicy: .union)
    try await world.settle()
    await world.change(0) { $0.client[0].value = 5 }
    _ = try? await world.synchronize(0, faults: [0: .loseReply])
    await world.remote.restart(with: Self.restored)
    let report = try await world.synchronize(0)
    #expect(report.epochDecision == .union)
    #expect(await Set(world.client(0)) == Set(Self.restored + [MergeItem(3, 0)]))
  }
}

private struct Asked: Error, Equatable {
  var known: String
  var found: String?
}
