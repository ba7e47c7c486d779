import Testing

@testable import TandemChannels

struct RouteCacheTests {
  /// A map of its own for each model: it adds the model's number, and only every other one takes names.
  private func map(_ number: Int) -> KeyPathMap<User, UserModel1> {
    let ages = KeyPathMap<User, UserModel1>().mapping(
      \.age, get: { $0.age - number }, set: { $0.age = $1 + number })
    return number.isMultiple(of: 2) ? ages : ages.mapping(\.name, to: \.name)
  }

  @Test("each map brings values where it says, even if there are more maps than places")
  func moreMapsThanPlaces() {
    let (hub, channel) = (ChannelHub(), Channel<User>(id: 1))
    let models = (0..<RouteCache.entryCount * 4).map { _ in UserModel1() }
    for (number, model) in models.enumerated() {
      hub.bind(model, to: channel, through: map(number))
    }
    for age in 1...3 {
      hub.send(\.age, age, on: channel)
      hub.send(\.name, "\(age)", on: channel)
      #expect(models.map(\.age) == models.indices.map { age + $0 })
      #expect(models.map(\.name) == models.indices.map { $0 % 2 == 0 ? "Nike" : "\(age)" })
    }
  }
}
