import TandemChannels

struct User { var name: String; var age: Int }  // the subject: what travels
final class Model1 { var name = "Nike"; var age = 21 }
final class Model2 { var nickName = "Daniel"; var age = 24 }
let hub = ChannelHub(), channel = Channel<User>(id: "1"), one = Model1(), two = Model2()
let first = hub.bind(
  one, to: channel,
  through: KeyPathMap<User, Model1>().mapping(\.name, to: \.name).mapping(\.age, to: \.age))
let second = hub.bind(
  two, to: channel,
  through: KeyPathMap<User, Model2>().mapping(\.name, to: \.nickName).mapping(\.age, to: \.age))
hub.send(\.name, "Tom", on: channel)
print(one.name, two.nickName)  // Tom Tom
second.cancel()
