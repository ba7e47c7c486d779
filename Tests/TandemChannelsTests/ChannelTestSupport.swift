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

struct SplitMix64: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
