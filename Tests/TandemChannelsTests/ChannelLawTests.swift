import TandemChannels
import Testing

/// Every order of a few steps, against a model that is a list.
struct ChannelLawTests {
  enum Step: CaseIterable {
    case bindFirst, bindSecond, send, sendExcludingFirst, cancelOldest, cancelNewest, dropFirst
  }

  /// What a hub is: a list of bindings in order, each with its object.
  private final class Naive {
    var bindings: [(object: Int, token: Int)] = []
    var heard: [Int: [Int]] = [:]

    func send(_ value: Int, excluding: Int?) {
      for binding in bindings where binding.object != excluding {
        heard[binding.token, default: []].append(value)
      }
    }
  }

  @Test("every order of six steps of bind, send, cancel and deallocate does what a list would do")
  func allOrders() {
    var steps: [Step] = []
    func extend() {
      if steps.count == 6 { return check(steps) }
      for step in Step.allCases {
        steps.append(step)
        extend()
        steps.removeLast()
      }
    }
    extend()
  }

  private func check(_ steps: [Step]) {
    let hub = ChannelHub()
    let channel = Channel<User>(id: 1)
    var objects: [Int: UserModel1] = [1: UserModel1(), 2: UserModel1()]
    var tokens: [ChannelBinding] = []
    var heard: [Int: [Int]] = [:]
    let naive = Naive()
    func bind(_ number: Int) {
      guard let object = objects[number] else { return }
      let token = tokens.count
      tokens.append(
        hub.bind(
          object, to: channel,
          through: KeyPathMap().mapping(
            \.age, to: \.age, equalValues: .delivered,
            didChange: { _, change in heard[token, default: []].append(change.new) })))
      naive.bindings.append((number, token))
    }
    for (value, step) in steps.enumerated() {
      switch step {
      case .bindFirst: bind(1)
      case .bindSecond: bind(2)
      case .send:
        hub.send(\.age, value, on: channel)
        naive.send(value, excluding: nil)
      case .sendExcludingFirst:
        hub.send(\.age, value, on: channel, excluding: objects[1])
        naive.send(value, excluding: 1)
      case .cancelOldest:
        tokens.first?.cancel()
        naive.bindings.removeAll { $0.token == 0 }
      case .cancelNewest:
        tokens.last?.cancel()
        naive.bindings.removeAll { $0.token == tokens.count - 1 }
      case .dropFirst:
        objects[1] = nil
        naive.bindings.removeAll { $0.object == 1 }
      }
    }
    let active = tokens.indices.filter { tokens[$0].isActive }
    if heard != naive.heard || active != naive.bindings.map(\.token) {
      Issue.record("\(steps): heard \(heard), not \(naive.heard); active \(active)")
    }
    hub.releaseEnded()
    if (hub.channelCount == 0) != naive.bindings.isEmpty {
      Issue.record("\(steps): \(hub.channelCount) channels are kept")
    }
  }
}
