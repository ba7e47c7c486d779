import TandemDifferences
import TandemHTTP
import TandemRecords
import TandemSQLite
import Testing

@testable import TandemMirror

@Suite("Requests for runs")
struct MirrorRequestsTests {
  /// A caller, and when it asked.
  struct Caller: Hashable {
    var number: Int
    /// The run that must answer it: the first that starts after it asked.
    var run: Int
  }

  /// What the requests must do, by definition.
  struct Model: Hashable {
    var requests = MirrorRequests()
    var callers: [Caller] = []
    var startCount = 0
    var isRunning = false
    var isRunCancelled = false
    var isWanted: [Int: Bool] = [:]
    var unattended: Set<Int> = []
    var nextCaller = 0
    var violation: String?

    mutating func request(isAttended: Bool) {
      let run = startCount + 1
      let wasRunning = isRunning
      if isAttended {
        nextCaller += 1
        callers.append(Caller(number: nextCaller, run: run))
        perform(requests.handle(.requested(caller: nextCaller)))
      } else {
        unattended.insert(run)
        perform(requests.handle(.requestedUnattended))
      }
      expect(isRunning, "a request does not lead to a run")
      expect(wasRunning == (startCount < run), "a request during a run starts one")
    }

    mutating func cancelCaller(_ index: Int) {
      let caller = callers.remove(at: index)
      let isLast = !callers.contains { $0.run == caller.run } && !unattended.contains(caller.run)
      let isCurrent = caller.run == startCount && isRunning
      let wasCancelled = isRunCancelled
      let actions = requests.handle(.callerCancelled(caller.number))
      perform(actions)
      expect(
        actions.contains(.awaitRun) == (isLast && isCurrent), "waits for what is not its own")
      expect(isRunCancelled == (wasCancelled || isLast && isCurrent), "cancels what is wanted")
    }

    mutating func cancelRun() {
      perform(requests.handle(.runCancelled))
      expect(isRunCancelled == isRunning, "a cancelled run goes on, or there was none")
    }

    mutating func endRun() {
      guard isRunning else { return }
      let run = startCount
      isRunning = false
      isRunCancelled = false
      let (answered, actions) = requests.endRun()
      expect(
        answered == callers.filter { $0.run == run }.map(\.number),
        "run \(run) answers others than those who asked before it")
      callers.removeAll { $0.run == run }
      unattended.remove(run)
      perform(actions)
      expect(
        isRunning == (!callers.isEmpty || !unattended.isEmpty), "a request is dropped or invented")
    }

    private mutating func perform(_ actions: [MirrorRequests.Action]) {
      for action in actions {
        switch action {
        case .startRun:
          expect(!isRunning, "two runs at a time")
          isRunning = true
          startCount += 1
        case .cancelRun:
          expect(isRunning && !isRunCancelled, "cancels twice")
          isRunCancelled = true
        case .awaitRun: break
        }
      }
    }

    private mutating func expect(_ isTrue: Bool, _ message: String) {
      if !isTrue, violation == nil { violation = message }
    }
  }

  @Test("are answered by the first run that starts after them, in every sequence of eight events")
  func everySequence() {
    var level: Set<Model> = [Model()]
    for _ in 0..<8 {
      var next: Set<Model> = []
      for model in level {
        for change in changes(of: model) {
          var copy = model
          change(&copy)
          #expect(copy.violation == nil)
          #expect(copy.requests.isRunning == copy.isRunning)
          next.insert(copy)
        }
      }
      level = next
    }
    #expect(level.contains { $0.startCount > 3 })
  }

  private func changes(of model: Model) -> [(inout Model) -> Void] {
    var changes: [(inout Model) -> Void] = [
      { $0.request(isAttended: true) }, { $0.request(isAttended: false) },
      { $0.cancelRun() }, { $0.endRun() },
    ]
    for index in model.callers.indices { changes.append { $0.cancelCaller(index) } }
    return changes
  }

  @Test("ignore a caller that was answered before it was cancelled")
  func lateCancellation() {
    var requests = MirrorRequests()
    #expect(requests.handle(.requested(caller: 1)) == [.startRun])
    #expect(requests.endRun().answered == [1])
    #expect(requests.handle(.callerCancelled(1)) == [])
  }
}
