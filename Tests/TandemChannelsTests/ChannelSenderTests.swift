import Dispatch
import Observation
import Synchronization
import TandemChannels
import Testing

/// Says where it is released: whether on the main queue, which is where the main actor works.
private final class Witness: Sendable {
  private static let mainQueue = DispatchSpecificKey<Bool>()
  private let end: AsyncStream<Bool>.Continuation

  init(_ end: AsyncStream<Bool>.Continuation) {
    self.end = end
    DispatchQueue.main.setSpecific(key: Self.mainQueue, value: true)
  }

  deinit {
    end.yield(DispatchQueue.getSpecific(key: Self.mainQueue) == true)
    end.finish()
  }

  func look() {}
}

/// Keeps the hub of the main actor's screen, and may itself go anywhere.
@MainActor private final class Screen {
  let hub = ChannelHub()
  lazy var sender = hub.sender()
}

@MainActor @Observable private final class Title {
  var age = 0
}

/// Has its binding as a property that is made when it is used first.
@MainActor private final class Form {
  let hub = ChannelHub()
  let title = Title()
  lazy var binding = hub.bindBothWays(
    title, to: Channel<User>(id: 1), through: KeyPathMap().mapping(\.age, to: \.age))
}

/// Has its sender as a property of an actor.
private actor Room {
  let hub = ChannelHub()
  lazy var sender = hub.sender(isolation: self)
  private let model = UserModel1()

  func bind() {
    hub.bind(
      model, to: Channel<User>(id: 1), through: KeyPathMap().mapping(\.age, to: \.age))
  }

  var age: Int { model.age }
}

private final class Flag: Sendable {
  let value = Atomic(false)
}

@Suite(.timeLimit(.minutes(20)))
@MainActor struct ChannelSenderTests {
  private let channel = Channel<User>(id: 1)

  /// A sender that alone keeps its hub.
  private func lastSender(_ witness: Witness) -> ChannelSender {
    let hub = ChannelHub()
    hub.observe(\.age, on: channel) { _ in witness.look() }
    return hub.sender()
  }

  @Test("a hub whose last sender goes elsewhere is released where it lives")
  func lastReference() async {
    let (ends, end) = AsyncStream.makeStream(of: Bool.self)
    await Task.detached { [sender = lastSender(Witness(end)), channel] in
      await sender.send(\.age, 1, on: channel)
    }.value
    for await isOnMainQueue in ends { #expect(isOnMainQueue) }
  }

  @Test("a sender is a lazy property, and reaches its hub from elsewhere")
  func lazyProperty() async {
    let screen = Screen()
    var heard: [Int] = []
    screen.hub.observe(\.age, on: channel) { heard.append($0) }
    await Task.detached { [sender = screen.sender, channel] in
      await sender.send(\.age, 1, on: channel)
    }.value
    #expect(heard == [1])
    let room = Room()
    await room.bind()
    await room.sender.send(\.age, 2, on: channel)
    #expect(await room.age == 2)
  }

  @Test("a binding both ways is a lazy property, and sends what changes")
  func lazyBinding() async {
    let form = Form()
    _ = form.binding
    let values = form.hub.values(of: \.age, on: channel)
    form.title.age = 3
    for await age in values {
      #expect(age == 3)
      break
    }
  }

  @Test("a sender keeps the hub, and reaches it")
  func keeping() async {
    var heard: [Int] = []
    var hub: ChannelHub? = ChannelHub()
    weak let trace = hub
    hub?.observe(\.age, on: channel) { heard.append($0) }
    let sender = hub?.sender()
    hub = nil
    #expect(trace != nil)
    await sender?.send(\.age, 7, on: channel)
    #expect(heard == [7])
  }

  @Test("tokens are cancelled in peace while their hub goes in another thread")
  func race() async {
    for _ in 0..<100 {
      var screen: Screen? = Screen()
      let tokens = (0..<2_000).compactMap { id in
        screen?.hub.observe(\.age, on: Channel<User>(id: id)) { _ in }
      }
      let hasBegun = Flag()
      let going = Task.detached { [last = screen] in
        hasBegun.value.store(true, ordering: .relaxed)
        return last != nil
      }
      screen = nil
      while !hasBegun.value.load(ordering: .relaxed) { await Task.yield() }
      for token in tokens.reversed() { token.cancel() }
      #expect(await going.value)
      #expect(tokens.allSatisfy { !$0.isActive })
    }
  }

  @Test("a token that outlives its hub is not active, and lets go of its closure when cancelled")
  func outliving() {
    var hub: ChannelHub? = ChannelHub()
    var model: UserModel1? = UserModel1()
    weak let trace = model
    let token = hub?.observe(\.age, on: channel) { [model] in model?.age = $0 }
    model = nil
    #expect(token?.isActive == true && trace != nil)
    hub = nil
    #expect(token?.isActive == false)
    token?.cancel()
    #expect(trace == nil)
  }
}
