import TandemChannels
import Testing

struct ChannelExampleTests {
  // The lines as they stand in the specification, unformatted.
  // swift-format-ignore
  @Test("the two models of the example get the value, each under its own name")
  func twoModels() {
    struct User { var name: String; var age: Int }                       // the subject: what travels
    final class Model1 { var name = "Nike"; var age = 21 }
    final class Model2 { var nickName = "Daniel"; var age = 24 }
    let hub = ChannelHub(), channel = Channel<User>(id: "1"), one = Model1(), two = Model2()
    let first = hub.bind(one, to: channel, through: KeyPathMap<User, Model1>().mapping(\.name, to: \.name).mapping(\.age, to: \.age))
    let second = hub.bind(two, to: channel, through: KeyPathMap<User, Model2>().mapping(\.name, to: \.nickName).mapping(\.age, to: \.age))
    hub.send(\.name, "Tom", on: channel)                                  // one.name == two.nickName == "Tom"
    #expect(one.name == "Tom" && two.nickName == "Tom" && one.age == 21 && two.age == 24)
    second.cancel()
    hub.send(\.name, "Ann", on: channel)
    #expect(one.name == "Ann" && two.nickName == "Tom" && first.isActive && !second.isActive)
  }
}
