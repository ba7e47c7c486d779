import CFloors
import Foundation
import TandemChannels

/// Sends on channels, beside writing the same values without a channel and beside notifications.
enum ChannelCases {
  struct User {
    var name: String
    var visits: Int
  }

  final class Model: @unchecked Sendable {
    var title = ""
    var count = 0
  }

  /// One object bound to one channel.
  static let one = BenchmarkGroup(name: "channels-one") {
    let map = KeyPathMap<User, Model>().mapping(\.visits, to: \.count).mapping(\.name, to: \.title)
    let closures = KeyPathMap<User, Model>().mapping(
      \.visits, get: { $0.count }, set: { $0.count = $1 })
    let variables = KeyPathMap<User, Model>().mapping(\.visits, to: opaque(\Model.count))
    return try [
      numbers("a number to one bound object", by: map, mustNotAllocate: true),
      numbers("a number to one bound object, by closures", by: closures, mustNotAllocate: true),
      numbers(
        "a number to one bound object, by a key path in a variable (may allocate, and is not held "
          + "against notifications)", by: variables),
      texts("a text to one bound object", by: map),
    ].map { try $0.checked() }
  }

  /// One of a million channels with an object each, beside a hub's only channel.
  static let million = BenchmarkGroup(name: "channels-million") {
    let map = KeyPathMap<User, Model>().mapping(\.visits, to: \.count)
    let models = (0..<channelCount).map { _ in Model() }
    let hub = ChannelHub()
    let before = floor_allocated_byte_count()
    for (id, model) in models.enumerated() {
      hub.bind(model, to: Channel<User>(id: id), through: map)
    }
    let byteCount = Double(floor_allocated_byte_count() - before) / Double(channelCount)
    let small = ChannelHub()
    let only = Model()
    small.bind(only, to: Channel<User>(id: 7), through: map)
    let alone = Benchmark.Contender(name: "the only channel of a hub") {
      defer { withExtendedLifetime(only) {} }
      return send(on: Channel(id: 7), of: small)
    }
    return [
      Benchmark(
        name: "\(sendCount) sends to one of \(channelCount) channels with one binding each",
        ours: .init(name: "one of a million channels") {
          defer { withExtendedLifetime(models) {} }
          return send(on: Channel(id: channelCount / 2), of: hub)
        },
        others: [
          alone,
          .init(name: "each time another of the million") { sendToMany(of: hub, models) },
        ],
        goals: [
          Benchmark.goal(atMost: 2, times: alone.name),
          Benchmark.goal(atMost: maxBytesPerBinding, bytesPer: "binding", measured: byteCount),
        ])
    ]
  }

  private static let sendCount = 200_000
  private static let channelCount = 1_000_000
  private static let maxBytesPerBinding = 400.0

  /// Keeps the optimiser from knowing what a value is.
  @inline(never)
  private static func opaque<Value>(_ value: Value) -> Value { value }
}

// MARK: - Contenders

extension ChannelCases {
  /// A case, and what has to hold before it is worth measuring.
  private struct Case {
    var benchmark: Benchmark
    var mustNotAllocate = false

    func checked() throws -> Benchmark {
      _ = try benchmark.ours.run()
      let ratios = try [plainStore, variableWrite].map { name in
        String(format: "%.1f × %@", try ratio(to: name), name)
      }
      let before = floor_allocation_count()
      _ = try benchmark.ours.run()
      let count = floor_allocation_count() - before
      guard !mustNotAllocate || count <= 0 else {
        throw Program.Failure(
          description: "\(benchmark.name): \(count) allocations in \(sendCount) sends, not 0")
      }
      var benchmark = benchmark
      benchmark.name += String(
        format: ", %d sends, %g allocations each", sendCount, Double(count) / Double(sendCount))
      benchmark.name +=
        "; " + ratios.joined(separator: ", ") + ", of which only the latter has a goal"
      return benchmark
    }

    /// How much longer than a contender the fastest of a few runs takes.
    private func ratio(to name: String) throws -> Double {
      guard let other = benchmark.others.first(where: { $0.name == name }) else { return .nan }
      func fastest(_ contender: Benchmark.Contender) throws -> Double {
        try (0..<5).map { _ in
          try ContinuousClock().measure { _ = try contender.run() } / .nanoseconds(1)
        }.min() ?? .nan
      }
      return try fastest(benchmark.ours) / fastest(other)
    }
  }

  /// What a hub, a key path and a notification center need to bring numbers into a model.
  private static func numbers(
    _ name: String, by map: KeyPathMap<User, Model>, mustNotAllocate: Bool = false
  ) -> Case {
    let (hub, channel, bound) = (ChannelHub(), Channel<User>(id: 1), Model())
    hub.bind(bound, to: channel, through: map)
    let written = Model()
    let store = Benchmark.Contender(name: plainStore) {
      for number in 0..<sendCount { Self.store(number, in: written) }
      return written.count
    }
    let path = opaque(\Model.count)
    let write = Benchmark.Contender(name: variableWrite) {
      for number in 0..<sendCount { written[keyPath: path] = number }
      return written.count
    }
    let (center, notified) = (NotificationCenter(), Model())
    _ = center.addObserver(forName: .visits, object: nil, queue: nil) { notification in
      guard let number = notification.userInfo?["visits"] as? Int else { return }
      if notified[keyPath: \.count] != number { notified[keyPath: \.count] = number }
    }
    let post = Benchmark.Contender(name: "NotificationCenter.post to one observer") {
      for number in 0..<sendCount {
        center.post(name: .visits, object: nil, userInfo: ["visits": number])
      }
      return notified.count
    }
    let ours = Benchmark.Contender(name: "ChannelHub.send") {
      for number in 0..<sendCount { hub.send(\.visits, number, on: channel) }
      return bound.count
    }
    return Case(
      benchmark: benchmark(name, ours, store, write, post, isFast: mustNotAllocate),
      mustNotAllocate: mustNotAllocate)
  }

  private static func texts(_ name: String, by map: KeyPathMap<User, Model>) -> Case {
    let texts = (0..<16).map { "the name of user number \($0)" }
    let last = (sendCount - 1) & 15
    let (hub, channel, bound) = (ChannelHub(), Channel<User>(id: 1), Model())
    hub.bind(bound, to: channel, through: map)
    let written = Model()
    let store = Benchmark.Contender(name: plainStore) {
      for number in 0..<sendCount { Self.store(texts[number & 15], in: written) }
      return written.title == texts[last] ? 1 : 0
    }
    let path = opaque(\Model.title)
    let write = Benchmark.Contender(name: variableWrite) {
      for number in 0..<sendCount { written[keyPath: path] = texts[number & 15] }
      return written.title == texts[last] ? 1 : 0
    }
    let (center, notified) = (NotificationCenter(), Model())
    _ = center.addObserver(forName: .visits, object: nil, queue: nil) { notification in
      guard let text = notification.userInfo?["name"] as? String else { return }
      if notified[keyPath: \.title] != text { notified[keyPath: \.title] = text }
    }
    let post = Benchmark.Contender(name: "NotificationCenter.post to one observer") {
      for number in 0..<sendCount {
        center.post(name: .visits, object: nil, userInfo: ["name": texts[number & 15]])
      }
      return notified.title == texts[last] ? 1 : 0
    }
    let ours = Benchmark.Contender(name: "ChannelHub.send") {
      for number in 0..<sendCount { hub.send(\.name, texts[number & 15], on: channel) }
      return bound.title == texts[last] ? 1 : 0
    }
    return Case(
      benchmark: benchmark(name, ours, store, write, post, isFast: true), mustNotAllocate: true)
  }

  private static let plainStore = "a write through a literal key path, which is a plain store"
  private static let variableWrite = "a write through a key path in a variable"

  @inline(never)
  private static func store(_ number: Int, in model: Model) { model[keyPath: \.count] = number }

  @inline(never)
  private static func store(_ text: String, in model: Model) { model[keyPath: \.title] = text }

  /// No hub keeps to five plain stores, so the goal is held against a write through a key path that the
  /// optimiser does not see through, and the case says how many plain stores a send takes.
  ///
  /// A key path in a variable costs what the standard library takes for it, several times a post's
  /// fifth; so only literals and closures are held against notifications.
  private static func benchmark(
    _ name: String, _ ours: Benchmark.Contender, _ store: Benchmark.Contender,
    _ write: Benchmark.Contender, _ post: Benchmark.Contender, isFast: Bool
  ) -> Benchmark {
    let goals = [Benchmark.goal(atMost: 5, times: write.name)]
    let more = isFast ? [Benchmark.goal(atLeast: 5, timesFasterThan: post.name)] : []
    return Benchmark(name: name, ours: ours, others: [store, write, post], goals: goals + more)
  }

  private static func send(on channel: Channel<User>, of hub: ChannelHub) -> Int {
    for number in 0..<sendCount { hub.send(\.visits, number, on: channel) }
    return sendCount
  }

  /// In an order without neighbours, so that memory is waited for.
  private static func sendToMany(of hub: ChannelHub, _ models: [Model]) -> Int {
    var generator = SplitMix64(seed: 6)
    for number in 0..<sendCount {
      let id = Int.random(in: 0..<channelCount, using: &generator)
      hub.send(\.visits, number, on: Channel<User>(id: id))
    }
    return sendCount
  }
}

extension Notification.Name {
  fileprivate static let visits = Notification.Name("visits")
}
