import TandemChannels

/// The subject of most tests.
struct User {
  var name: String
  var age: Int
  var address = Address()
}

struct Address: Equatable {
  var city = ""
}

/// A model whose property is named as the subject's.
final class UserModel1 {
  var name = "Nike"
  var age = 21
}

/// A model whose names differ, and share no first letter with the subject's.
final class UserModel2 {
  var nickName = "Daniel"
  var years = 24
  var home = Address()
}

func map1() -> KeyPathMap<User, UserModel1> {
  KeyPathMap<User, UserModel1>().mapping(\.name, to: \.name).mapping(\.age, to: \.age)
}
func map2() -> KeyPathMap<User, UserModel2> {
  KeyPathMap<User, UserModel2>().mapping(\.name, to: \.nickName).mapping(\.age, to: \.years)
    .mapping(\.address.city, to: \.home.city)
}

/// Collects what listeners say.
final class Journal {
  var lines: [String] = []
}
