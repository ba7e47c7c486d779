/// Measures the time since it was made, on any clock.
struct MirrorStopwatch: Sendable {
  private let measure: @Sendable () -> Duration

  init(_ clock: some Clock<Duration>) {
    let start = clock.now
    measure = { start.duration(to: clock.now) }
  }

  var elapsed: Duration { measure() }
}
