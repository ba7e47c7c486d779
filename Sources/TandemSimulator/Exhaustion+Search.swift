extension Exhaustion {
  /// The result of a search.
  struct Result {
    var stateCount = 0
    /// The numbers of different states of a file and of the space.
    var fileStateCount = 0
    var spaceStateCount = 0
    /// True if all states were visited.
    var isComplete = true
    /// The law that does not hold, and the steps that lead to it, as few as possible.
    var failure: (law: String, steps: [String])?
  }

  /// The greatest number of steps from a state until all is synchronized.
  private static let maxSettlingCount = 500

  /// Visits all states, those that fewer steps reach first.
  ///
  /// - Parameter maxStateCount: The number of states after which the search ends.
  func run(maxStateCount: Int) throws -> Result {
    var result = Result()
    for start in [try emptyStart(), try synchronizedStart()] where result.failure == nil {
      try visit(from: start, maxStateCount, &result)
    }
    result.fileStateCount = files.values.count
    result.spaceStateCount = spaces.values.count
    return result
  }

  private func visit(from start: State, _ maxStateCount: Int, _ result: inout Result) throws {
    // The state that led to each state, and the position of the step among its steps.
    var origins: [(parent: Int32, step: Int16)] = [(-1, 0)]
    var seen: Set<Fingerprint> = [Fingerprint(start)]
    var layer: [(number: Int32, state: State)] = [(0, start)]
    let before = result.stateCount
    defer { result.stateCount = before + seen.count }
    while !layer.isEmpty {
      var next: [(number: Int32, state: State)] = []
      for (number, state) in layer {
        do {
          try settle(state)
          for (position, (_, state)) in try steps(from: state).enumerated()
          where seen.insert(Fingerprint(state)).inserted {
            origins.append((number, Int16(position)))
            next.append((Int32(origins.count - 1), state))
          }
        } catch let violation as SimulationViolation {
          result.failure = (violation.description, try path(to: number, origins, from: start))
          return
        }
        guard seen.count < maxStateCount else {
          result.isComplete = false
          return
        }
      }
      layer = next
    }
  }

  /// The steps from the start to a state, and those without accidents that follow.
  private func path(
    to number: Int32, _ origins: [(parent: Int32, step: Int16)], from start: State
  ) throws -> [String] {
    var positions: [Int] = []
    var number = number
    while number > 0 {
      positions.append(Int(origins[Int(number)].step))
      number = origins[Int(number)].parent
    }
    var state = start
    var texts: [String] = []
    for position in positions.reversed() {
      let step = try steps(from: state)[position]
      texts.append(step.text)
      state = step.state
    }
    texts.append("no accident any more:")
    for _ in 0..<Exhaustion.maxSettlingCount {
      guard let step = try? settling(state) else { break }
      texts.append(step.text)
      state = step.state
    }
    return texts
  }

  /// Continues a state without accidents, and checks the laws of the end.
  private func settle(_ state: State) throws {
    var path: [Fingerprint] = []
    var state = state
    while true {
      let fingerprint = Fingerprint(state)
      if settled.contains(fingerprint) { break }
      path.append(fingerprint)
      guard path.count < Exhaustion.maxSettlingCount else {
        throw SimulationViolation("the synchronization does not come to rest")
      }
      guard let next = try settling(state)?.state else {
        try checkEnd(state)
        break
      }
      state = next
    }
    settled.formUnion(path)
  }
}
