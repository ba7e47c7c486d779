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
  static let maxSettlingCount = 500

  /// Visits all states: those that fewer interruptions reach first, and of these those that fewer steps
  /// reach.
  ///
  /// - Parameter maxStateCount: The number of states after which the search ends.
  func run(maxStateCount: Int) throws -> Result {
    var result = Result()
    for start in [try emptyStart(), try synchronizedStart()] where result.failure == nil {
      startEditCount = try start.files.reduce(0) { try $0 + view(ofFile: $1).editCount }
      settled = []
      try visit(from: start, maxStateCount, &result)
    }
    result.fileStateCount = files.values.count
    result.spaceStateCount = spaces.values.count
    return result
  }

  /// A state that was visited: the one that led to it, and the place of the step among its steps.
  private struct Origin {
    let parent: Int32
    let place: Int16
    /// True if the place is one among the independent steps.
    let isIndependent: Bool
    let interruptionCount: UInt8
  }

  private func visit(from start: State, _ maxStateCount: Int, _ result: inout Result) throws {
    var origins: [Origin] = []
    var seen: Set<Fingerprint> = []
    var layer = [
      (Origin(parent: -1, place: 0, isIndependent: false, interruptionCount: 0), start)
    ]
    // The states that one more interruption reaches wait until all others are visited.
    var later = layer
    later.removeAll()
    var laterSeen: Set<Fingerprint> = []
    let before = result.stateCount
    defer { result.stateCount = before + seen.count }
    while true {
      if layer.isEmpty {
        (layer, later, laterSeen) = (later, [], [])
        if layer.isEmpty { return }
      }
      var next = layer
      next.removeAll()
      for (origin, state) in layer where seen.insert(Fingerprint(state)).inserted {
        let number = Int32(origins.count)
        origins.append(origin)
        let interruptionCount = Int(origin.interruptionCount)
        func visit(_ steps: [Step], isIndependent: Bool) throws -> Bool {
          var hasNew = false
          for (place, var step) in steps.enumerated() {
            let count = interruptionCount + (step.isInterruption ? 1 : 0)
            if endsUndisturbed(after: count) { step.state = try undisturbed(step.state) }
            let fingerprint = Fingerprint(step.state)
            guard !seen.contains(fingerprint) else { continue }
            let new = Origin(
              parent: number, place: Int16(place), isIndependent: isIndependent,
              interruptionCount: UInt8(clamping: count))
            if !step.isInterruption {
              hasNew = true
              next.append((new, step.state))
            } else if laterSeen.insert(fingerprint).inserted {
              later.append((new, step.state))
            }
          }
          return hasNew
        }
        do {
          try settle(state)
          let hasInterruptions = interruptionCount < maxInterruptionCount
          // If all were visited before, the steps of others could be put off for ever.
          if let steps = try independentSteps(from: state),
            try visit(steps, isIndependent: true)
          {
            continue
          }
          _ = try visit(
            steps(from: state, hasInterruptions: hasInterruptions), isIndependent: false)
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
    to number: Int32, _ origins: [Origin], from start: State
  ) throws -> [String] {
    var places: [Origin] = []
    var number = number
    while origins[Int(number)].parent >= 0 {
      places.append(origins[Int(number)])
      number = origins[Int(number)].parent
    }
    var state = start
    var texts: [String] = []
    var interruptionCount = 0
    for origin in places.reversed() {
      let hasInterruptions = interruptionCount < maxInterruptionCount
      let choices =
        origin.isIndependent
        ? try independentSteps(from: state) ?? []
        : try steps(from: state, hasInterruptions: hasInterruptions)
      let step = choices[Int(origin.place)]
      texts.append(step.text())
      state = step.state
      interruptionCount = Int(origin.interruptionCount)
      if endsUndisturbed(after: interruptionCount) {
        while let step = try undisturbedStep(from: state) {
          texts.append(step.text())
          state = step.state
        }
      }
    }
    texts.append("no accident any more:")
    for _ in 0..<Exhaustion.maxSettlingCount {
      guard let step = try? settling(state) else { break }
      texts.append(step.text())
      state = step.state
    }
    return texts
  }

  /// Continues a state without accidents, and checks the laws of the end.
  private func settle(_ state: State) throws {
    var path: [Fingerprint] = []
    var state = state
    state.running = nil
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
