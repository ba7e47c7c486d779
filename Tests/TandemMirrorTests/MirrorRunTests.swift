import TandemDifferences
import TandemHTTP
import TandemRecords
import TandemSQLite
import Testing

@testable import TandemMirror

@Suite("A run, as a machine")
struct MirrorRunTests {
  @Test("keeps its promises in every order of events", arguments: MirrorRunExplorer.Setting.all)
  func everyOrder(setting: MirrorRunExplorer.Setting) {
    var explorer = MirrorRunExplorer(setting)
    explorer.explore()
    #expect(explorer.violations == [])
    #expect(explorer.endings.contains(.completed))
    #expect(explorer.endings.contains(.cancelled(.list)))
  }

  @Test("takes the steps in order, with a report before each")
  func order() {
    var run = MirrorRun(MirrorOptions(concurrency: 2))
    func progress(_ done: Int) -> MirrorRun.Action {
      .publish(
        .transferring(MirrorProgress(stage: .content, doneCount: done, totalCount: 2)))
    }
    func content(_ item: Int) -> MirrorRun.Transfer { .init(item: item, stage: 0) }
    #expect(run.handle(.started) == [.publish(.listing), .begin])
    #expect(run.handle(.begun) == [.compare])
    #expect(run.handle(.compared(removalCount: 3)) == [.prepare])
    #expect(
      run.handle(.prepared(itemCount: 2))
        == [progress(0), .transfer(content(0)), .transfer(content(1))])
    #expect(run.handle(.transferred(content(1))) == [progress(1)])
    #expect(
      run.handle(.transferFailed(content(0), .transient(retryAfter: .seconds(1))))
        == [.retry(content(0), after: .seconds(1))])
    let second = MirrorRun.Transfer(item: 0, stage: 0, attempt: 2)
    #expect(run.handle(.retryDue(content(0))) == [.transfer(second)])
    #expect(
      run.handle(.transferred(second)) == [progress(2), .publish(.removing(count: 3)), .remove])
    #expect(run.handle(.removed) == [.publish(.ending), .end(.completed)])
    #expect(run.handle(.ended) == [])
    #expect(run.isEnded)
  }
}

/// Feeds a machine every sequence of events that a driver may produce, and checks what it answers.
struct MirrorRunExplorer {
  struct Setting: Sendable, CustomTestStringConvertible {
    var policies: [MirrorErrorPolicy]
    var order: MirrorStageOrder
    var removal: MirrorRemoval
    var concurrency: Int
    var itemCount: Int

    var testDescription: String {
      "\(itemCount) items, \(policies), \(order), \(removal), concurrency \(concurrency)"
    }

    static let all: [Setting] = {
      let single = MirrorErrorPolicy.allCases.map { [$0] }
      let pairs = MirrorErrorPolicy.allCases.flatMap { first in
        MirrorErrorPolicy.allCases.map { [first, $0] }
      }
      var all: [Setting] = []
      for policies in [[]] + single + pairs {
        for removal in MirrorRemoval.allCases {
          for order in MirrorStageOrder.allCases {
            for concurrency in [1, 2] {
              let itemCount = policies.count < 2 ? 3 : 2
              all.append(
                Setting(
                  policies: policies, order: order, removal: removal, concurrency: concurrency,
                  itemCount: itemCount))
            }
          }
        }
      }
      return all
    }()
  }

  struct Part: Hashable { var item: Int, stage: Int }

  /// Everything a driver knows at one point of a run.
  struct Node: Hashable {
    var run: MirrorRun
    var step: MirrorStep?
    var inFlight: Set<MirrorRun.Transfer> = []
    var waiting: Set<MirrorRun.Transfer> = []
    var settled: Set<Part> = []
    var failed: Set<Part> = []
    var isAnythingGivenUp = false
    var isCancelled = false
    var isStopped = false
    var hasStepFailed = false
    var beginCount = 0
    var removeCount = 0
    var ending: MirrorRun.Ending?
  }

  let setting: Setting
  private(set) var violations: Set<String> = []
  private(set) var endings: Set<MirrorRun.Ending> = []
  private var seen: Set<Node> = []

  init(_ setting: Setting) { self.setting = setting }

  mutating func explore() {
    let stages = setting.policies.enumerated().map {
      MirrorStageOptions(MirrorStage(name: "\($0)"), errorPolicy: $1)
    }
    let options = MirrorOptions(
      stages: stages, stageOrder: setting.order, concurrency: setting.concurrency,
      removal: setting.removal)
    let start = Node(run: MirrorRun(options))
    let cancelled = after(.cancelled, start) { $0.isCancelled = true }
    var open = [after(.started, start) { _ in }, after(.started, cancelled) { _ in }]
    while let node = open.popLast() {
      guard seen.insert(node).inserted else { continue }
      let followers = followers(of: node)
      if followers.isEmpty { checkEnd(node) }
      open += followers
    }
  }

  /// What can happen next.
  private mutating func followers(of node: Node) -> [Node] {
    guard !node.run.isEnded else { return [] }
    var nodes = stepFollowers(of: node)
    for transfer in node.inFlight {
      let part = Part(item: transfer.item, stage: transfer.stage)
      nodes.append(
        after(.transferred(transfer), node) {
          $0.inFlight.remove(transfer)
          $0.settled.insert(part)
        })
      var failures: [MirrorRun.TransferFailure] = [.final]
      if transfer.attempt < 2 { failures.append(.transient(retryAfter: .seconds(1))) }
      if node.isStopped || node.isCancelled { failures.append(.cancelled) }
      for failure in failures {
        nodes.append(
          after(.transferFailed(transfer, failure), node) {
            $0.inFlight.remove(transfer)
            if failure == .cancelled { $0.isAnythingGivenUp = true }
          })
      }
    }
    for transfer in node.waiting {
      nodes.append(after(.retryDue(transfer), node) { $0.waiting.remove(transfer) })
    }
    if !node.isCancelled { nodes.append(after(.cancelled, node) { $0.isCancelled = true }) }
    return nodes
  }

  private mutating func stepFollowers(of node: Node) -> [Node] {
    guard let step = node.step else { return [] }
    var events: [MirrorRun.Event]
    switch step {
    case .begin: events = [.begun]
    case .list: events = [.compared(removalCount: 0), .compared(removalCount: 1)]
    case .prepare: events = [.prepared(itemCount: 0), .prepared(itemCount: setting.itemCount)]
    case .remove: events = [.removed]
    case .end: events = [.ended]
    case .localIDs, .compare, .transfer: events = []
    }
    if step != .end { events.append(.stepFailed) }
    return events.map { event in
      after(event, node) {
        $0.step = nil
        if event == .stepFailed { $0.hasStepFailed = true }
      }
    }
  }

  private mutating func after(
    _ event: MirrorRun.Event, _ node: Node, _ change: (inout Node) -> Void
  ) -> Node {
    var node = node
    change(&node)
    for action in node.run.handle(event) { perform(action, &node) }
    let isIdle = node.step == nil && node.inFlight.isEmpty && node.waiting.isEmpty
    expect(
      !isIdle || node.beginCount == 0 || node.run.isEnded, "nothing is left to wait for")
    expect(node.inFlight.count + node.waiting.count <= setting.concurrency, "too many at a time")
    return node
  }

  private mutating func perform(_ action: MirrorRun.Action, _ node: inout Node) {
    expect(node.ending == nil, "\(action) after the end")
    switch action {
    case .publish(.transferring(let progress)):
      expect(progress.failedCount <= progress.doneCount, "more failed than done")
      expect(progress.doneCount <= progress.totalCount, "more done than there are")
    case .publish: break
    case .begin:
      node.beginCount += 1
      begin(.begin, &node)
    case .compare: begin(.list, &node)
    case .prepare: begin(.prepare, &node)
    case .transfer(let transfer): start(transfer, &node)
    case .retry(let transfer, _):
      expect(!node.isStopped && !node.isCancelled, "a further attempt after the end was decided")
      node.waiting.insert(transfer)
    case .recordFailure(let transfer, let stopsRun): record(transfer, stopsRun, &node)
    case .cancelTransfers: node.isStopped = true
    case .remove:
      begin(.remove, &node)
      node.removeCount += 1
      let mayFail = setting.removal != .lastIfNothingFailed
      expect(mayFail || node.failed.isEmpty, "removes although a transfer failed")
      expect(setting.removal != .first || node.settled.isEmpty, "removes first, but late")
    case .end(let ending):
      begin(.end, &node)
      node.ending = ending
    }
  }

  private mutating func begin(_ step: MirrorStep, _ node: inout Node) {
    expect(node.step == nil, "\(step) during another step")
    expect(node.inFlight.isEmpty && node.waiting.isEmpty, "\(step) during transfers")
    node.step = step
  }

  private mutating func start(_ transfer: MirrorRun.Transfer, _ node: inout Node) {
    let part = Part(item: transfer.item, stage: transfer.stage)
    expect(node.step == nil, "a transfer during a step")
    expect(!node.isStopped && !node.isCancelled, "a transfer after the end was decided")
    expect(!node.settled.contains(part), "a transfer that is done already")
    for stage in 0..<transfer.stage {
      let earlier = Part(item: transfer.item, stage: stage)
      expect(node.settled.contains(earlier), "a stage before the one it follows")
      let isSkipped = node.failed.contains(earlier) && setting.policies[stage] == .skipItem
      expect(!isSkipped, "a stage of an item that was left out")
    }
    if setting.order == .stageByStage {
      expect(
        node.inFlight.union(node.waiting).allSatisfy { $0.stage == transfer.stage },
        "two stages at a time")
    }
    node.inFlight.insert(transfer)
  }

  private mutating func record(
    _ transfer: MirrorRun.Transfer, _ stopsRun: Bool, _ node: inout Node
  ) {
    let part = Part(item: transfer.item, stage: transfer.stage)
    expect(node.settled.insert(part).inserted, "a failure of what is done already")
    node.failed.insert(part)
    let isFirst = !node.isStopped && !node.isCancelled
    expect(
      stopsRun == (isFirst && setting.policies[part.stage] == .stop), "stops when it should not")
  }

  private mutating func checkEnd(_ node: Node) {
    guard let ending = node.ending else { return expect(false, "no end") }
    endings.insert(ending)
    expect(node.beginCount == 1, "begins \(node.beginCount) times")
    expect(node.removeCount <= 1, "removes \(node.removeCount) times")
    switch ending {
    case .completed:
      expect(!node.isAnythingGivenUp, "complete, although a transfer was given up")
      expect(!node.hasStepFailed && !node.isStopped, "complete, although something failed")
    case .failed:
      expect(node.hasStepFailed || node.isStopped, "failed, although nothing did")
    case .cancelled:
      expect(node.isCancelled, "cancelled, although nobody did")
    }
  }

  private mutating func expect(_ isTrue: Bool, _ violation: String) {
    if !isTrue { violations.insert(violation) }
  }
}
