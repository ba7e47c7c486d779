// snippet.hide
import TandemChannels

// snippet.show
struct User { var name: String; var age: Int }  // the subject of the channels
final class Model1 { var name = "Nike"; var age = 21 }
final class Model2 { var nickName = "Daniel"; var age = 24 }
let map1 = KeyPathMap<User, Model1>().mapping(\.name, to: \.name).mapping(\.age, to: \.age)
let map2 = KeyPathMap<User, Model2>().mapping(\.name, to: \.nickName).mapping(\.age, to: \.age)
let hub = ChannelHub(), channel = Channel<User>(id: "1"), one = Model1(), two = Model2()
hub.bind(one, to: channel, through: map1)
hub.bind(two, to: channel, through: map2)
hub.send(\.name, "Tom", on: channel)
print(one.name, two.nickName)  // Tom Tom
