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
    var unattended: Set<Int> = []
    var nextCaller = 0
    var violation: String?

    mutating func request(isAttended: Bool) {
      let run = startCount + 1
      let wasRunning = isRunning
      if isAttended {
        nextCaller += 1
        callers.append(Caller(number: nextCaller, run: run))
        if requests.request(by: nextCaller) { startRun() }
      } else {
        unattended.insert(run)
        if requests.request(by: nil) { startRun() }
      }
      expect(isRunning, "a request does not lead to a run")
      expect(wasRunning == (startCount < run), "a request during a run starts one")
    }

    mutating func cancelCaller(_ index: Int) {
      let caller = callers.remove(at: index)
      let isLast = !callers.contains { $0.run == caller.run } && !unattended.contains(caller.run)
      let isCurrent = caller.run == startCount && isRunning
      expect(
        requests.forget(caller.number) == (isLast && isCurrent), "cancels what is wanted")
    }

    mutating func endRun() {
      guard isRunning else { return }
      let run = startCount
      isRunning = false
      let answered = requests.endRun()
      expect(
        answered == callers.filter { $0.run == run }.map(\.number),
        "run \(run) answers others than those who asked before it")
      callers.removeAll { $0.run == run }
      unattended.remove(run)
      if requests.isRunning { startRun() }
      expect(
        isRunning == (!callers.isEmpty || !unattended.isEmpty), "a request is dropped or invented")
    }

    private mutating func startRun() {
      expect(!isRunning, "two runs at a time")
      isRunning = true
      startCount += 1
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
      { $0.endRun() },
    ]
    for index in model.callers.indices { changes.append { $0.cancelCaller(index) } }
    return changes
  }

  @Test("ignore a caller that was answered before it was cancelled")
  func lateCancellation() {
    var requests = MirrorRequests()
    let (starts, answered) = (requests.request(by: 1), requests.endRun())
    let isLast = requests.forget(1)
    #expect(starts && answered == [1] && !isLast)
  }
}
