/// Values by numbers, each once.
struct Interned<Value: Hashable> {
  private var numbers: [Value: Int32] = [:]
  private(set) var values: [Value] = []

  mutating func number(of value: Value) -> Int32 {
    if let number = numbers[value] { return number }
    let number = Int32(values.count)
    numbers[value] = number
    values.append(value)
    return number
  }

  subscript(_ number: Int32) -> Value { values[Int(number)] }
}

/// 128 bits that stand for a state. Two states with equal bits would be taken for one.
struct Fingerprint: Hashable {
  private var first: UInt64 = 0x9E37_79B9_7F4A_7C15
  private var second: UInt64 = 0xC2B2_AE3D_27D4_EB4F

  init(_ state: Exhaustion.State) {
    for number in state.files { add(number) }
    add(state.space)
    for driver in state.drivers {
      add(driver.session)
      add(driver.action ?? -1)
      add(driver.request ?? -1)
      add(Int32(driver.answers.count))
      for answer in driver.answers { add(answer) }
    }
    for commit in state.commits { add(commit) }
    add(state.ledger)
    add(Int32(state.running ?? -1))
  }

  private mutating func add(_ number: Int32) {
    let bits = UInt64(UInt32(bitPattern: number))
    first = Fingerprint.mixed(first ^ bits)
    second = Fingerprint.mixed(second &+ bits &* 0xD6E8_FEB8_6659_FD93)
  }

  /// The finalizer of SplitMix64.
  private static func mixed(_ bits: UInt64) -> UInt64 {
    var bits = bits &+ 0x9E37_79B9_7F4A_7C15
    bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
    return bits ^ bits >> 31
  }
}
