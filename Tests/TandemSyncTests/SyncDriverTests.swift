import TandemRecords
import TandemSync
import Testing

@Suite(.timeLimit(.minutes(20))) struct SyncDriverTests {
  @Test("A run ends up to date, with every edit in the space once")
  func settles() async throws {
    let remote = CountingRemote()
    let replica = CountingReplica()
    replica.edit()
    replica.edit()
    let statuses = Statuses()
    let status = try await driver(replica, remote, statuses).run(
      until: .settled(maxFailureCount: 1))
    #expect(status == .upToDate(remote.revision))
    #expect(remote.editCount == 2)
    #expect(statuses.all.map(\.name) == ["pulling", "pushing", "upToDate"])
  }

  @Test("Lost requests, lost replies and a busy space are retried, and no edit is counted twice")
  func retries() async throws {
    for faults in [[.requestLost], [.replyLost], [.busy], [.replyLost, .requestLost, .replyLost]]
      as [[CountingRemote.Fault]]
    {
      for position in 0..<3 {
        let none = [CountingRemote.Fault](repeating: .none, count: position)
        let remote = CountingRemote(faults: none + faults)
        let replica = CountingReplica()
        replica.edit()
        let clock = RecordingClock()
        let status = try await driver(replica, remote, clock: clock)
          .run(until: .settled(maxFailureCount: 5))
        #expect(status == .upToDate(remote.revision), "\(faults) at \(position)")
        #expect(remote.editCount == 1, "\(faults) at \(position)")
        let reached = faults.count - max(0, faults.count + position - remote.requestCount)
        #expect(clock.pauses.count == reached)
        let expected: [Duration] =
          faults == [.busy] ? [.seconds(9)] : [.seconds(1), .seconds(2), .seconds(4)]
        #expect(clock.pauses == Array(expected.prefix(reached)))
      }
    }
  }

  @Test("A run gives up after so many failures in a row, with the error that led to it")
  func givesUp() async throws {
    let remote = CountingRemote(faults: Array(repeating: .requestLost, count: 100))
    let statuses = Statuses()
    let clock = RecordingClock()
    let status = try await driver(CountingReplica(), remote, statuses, clock: clock)
      .run(until: .settled(maxFailureCount: 3))
    #expect(status == .offline)
    #expect(remote.requestCount == 3)
    #expect(clock.pauses.count == 2)
    #expect(statuses.errors.contains { $0 is CountingRemote.Lost })
  }

  @Test("A run gives up early if the space is silent, but not if it answers that it is busy")
  func silence() async throws {
    for (fault, count) in [(CountingRemote.Fault.requestLost, 3), (.busy, 9)] {
      let remote = CountingRemote(faults: Array(repeating: fault, count: 100))
      let status = try await SyncDriver(
        CountingReplica(), remote, backoff: Backoff(first: .seconds(20)),
        clock: RecordingClock(), chance: { 1 }
      ).run(until: .settled(maxFailureCount: 9))
      #expect(status == .offline)
      #expect(remote.requestCount == count, "\(fault)")
    }
  }

  @Test("An answer ends a silence")
  func brokenSilence() async throws {
    let remote = CountingRemote(
      faults: [.requestLost, .replyLost, .none, .requestLost, .requestLost])
    let replica = CountingReplica()
    replica.edit()
    let status = try await SyncDriver(
      replica, remote, backoff: Backoff(first: .seconds(15)), clock: RecordingClock(),
      chance: { 1 }
    ).run(until: .settled(maxFailureCount: 9))
    #expect(status == .upToDate(remote.revision))
    #expect(remote.editCount == 1)
  }

  @Test("A space whose pages do not end is out of order, and a run gives up")
  func endlessPages() async throws {
    let remote = CountingRemote(faults: Array(repeating: .repeatedPage, count: 100))
    let status = try await driver(CountingReplica(), remote, clock: RecordingClock())
      .run(until: .settled(maxFailureCount: 3))
    #expect(status == .offline)
    #expect(remote.requestCount == 3)
  }

  @Test(
    "Versions that go back, in a page or from one to the next, or that are beyond the head, are no space's",
    arguments: [
      [.page([2, 1], next: nil)], [.page([1, 4], next: nil)],
      [.page([1, 2], next: "a"), .page([1], next: nil)],
    ] as [[CountingRemote.Fault]])
  func versionsInDisorder(pages: [CountingRemote.Fault]) async throws {
    let remote = CountingRemote(faults: pages)
    for _ in 0..<3 { remote.commit() }
    let clock = RecordingClock()
    let statuses = Statuses()
    let status = try await driver(CountingReplica(), remote, statuses, clock: clock)
      .run(until: .settled(maxFailureCount: 3))
    // The next answer is right.
    #expect(status == .upToDate(revision(3)))
    #expect(clock.pauses.count == 1 && statuses.all.contains(.offline))
    #expect(statuses.errors.contains { ($0 as? ForeignPage)?.reason.contains("order") == true })
    let right = CountingRemote(faults: [
      .page([1, 2, 2], next: "a"), .page([2, 3], next: "b"), .page([3], next: nil),
    ])
    for _ in 0..<3 { right.commit() }
    let other = RecordingClock()
    _ = try await driver(CountingReplica(), right, clock: other)
      .run(until: .settled(maxFailureCount: 3))
    #expect(other.pauses.isEmpty)
  }

  @Test("A space that refuses each commit, and no record of it, does not keep a run for ever")
  func refusedCommits() async throws {
    let remote = CountingRemote(faults: Array(repeating: .refusedCommit, count: 100))
    let replica = CountingReplica()
    replica.edit()
    let status = try await driver(replica, remote, clock: RecordingClock())
      .run(until: .settled(maxFailureCount: 3))
    #expect(status == .pulling || status == .pushing(changeCount: 1))
    #expect(remote.editCount == 0 && remote.requestCount < 20)
  }

  @Test("A refusal of the space ends a run that is to settle")
  func refusal() async throws {
    let remote = CountingRemote(faults: [.refused])
    let status = try await driver(CountingReplica(), remote).run(
      until: .settled(maxFailureCount: 3))
    #expect(status == .blocked(.refused(CountingRemote.refusal)))
    #expect(remote.requestCount == 1)
  }

  @Test(
    "A run for ever sends edits and fetches commits as they come, and ends when cancelled",
    arguments: [(false, 11), (true, 2)])
  func forever(sendsChanges: Bool, maxPullCount: Int) async throws {
    let remote = CountingRemote(sendsChanges: sendsChanges)
    let replica = CountingReplica()
    let statuses = Statuses()
    let run = Task { try await driver(replica, remote, statuses).run(until: .forever) }
    for round in 1...20 {
      if round.isMultiple(of: 2) { replica.edit() } else { remote.commit() }
      await statuses.reach { $0 == .upToDate(self.revision(round)) }
      #expect(replica.base == round)
    }
    #expect(remote.editCount == 10)
    // One connection is enough, however many commits there are.
    #expect(remote.followerCount == 1)
    // Its own commits give a replica no reason to pull, nor do those that events have. The first commit may
    // come before the replica follows.
    #expect(remote.pullCount <= maxPullCount)
    run.cancel()
    await #expect(throws: CancellationError.self) { try await run.value }
  }

  @Test("Events that come lost, repeated and in any order lead to the space all the same")
  func jumbledEvents() async throws {
    let remote = CountingRemote(sendsChanges: true)
    let replica = CountingReplica()
    let statuses = Statuses()
    let run = Task { try await driver(replica, remote, statuses).run(until: .forever) }
    await statuses.reach { $0 == .upToDate(self.revision(0)) }
    // From version to version: repeated, one missing, older ones, one whose end is known already.
    for (from, version) in [(0, 1), (0, 1), (2, 3), (1, 2), (0, 3), (2, 4), (3, 5), (5, 6), (6, 6)]
    {
      remote.commit(to: version, eventFrom: from)
    }
    await statuses.reach { $0 == .upToDate(self.revision(6)) }
    #expect(replica.base == 6)
    run.cancel()
    _ = await run.result
  }

  @Test("A wait for commits that fails is repeated after growing pauses")
  func failingWaits() async throws {
    let remote = CountingRemote(failingWaitCount: 3)
    let replica = CountingReplica()
    let statuses = Statuses()
    let clock = RecordingClock()
    let run = Task {
      try await driver(replica, remote, statuses, clock: clock).run(until: .forever)
    }
    await remote.reach { $0.failingWaitCount < 0 }
    #expect(clock.pauses == [1, 2, 4].map { .seconds($0) })
    remote.commit()
    await statuses.reach { $0 == .upToDate(self.revision(1)) }
    run.cancel()
    _ = await run.result
  }

  @Test("Two replicas that run for ever end equal, whoever edits")
  func twoReplicas() async throws {
    let remote = CountingRemote()
    let replicas = [CountingReplica(), CountingReplica()]
    let statuses = [Statuses(), Statuses()]
    let runs = (0..<2).map { index in
      Task { try await driver(replicas[index], remote, statuses[index]).run(until: .forever) }
    }
    for _ in 0..<10 { for replica in replicas { replica.edit() } }
    await remote.reach { $0.editCount == 20 }
    for (index, replica) in replicas.enumerated() {
      await statuses[index].reach { _ in replica.base == remote.revision.version }
    }
    for run in runs { run.cancel() }
    for run in runs { _ = await run.result }
  }

  @Test("An error of the file ends the run")
  func fileError() async throws {
    let replica = CountingReplica()
    replica.fail()
    await #expect(throws: CountingReplica.Failed.self) {
      try await driver(replica, CountingRemote()).run(until: .forever)
    }
  }

  private func driver(
    _ replica: CountingReplica, _ remote: CountingRemote, _ statuses: Statuses = Statuses(),
    clock: any Clock<Duration> = RecordingClock()
  ) -> SyncDriver<CountingReplica, CountingRemote> {
    SyncDriver(
      replica, remote, clock: clock, chance: { 1 }, publish: { statuses.append($0, $1) })
  }

  private func revision(_ version: Int) -> SpaceRevision { CountingRemote.revision(version) }
}
