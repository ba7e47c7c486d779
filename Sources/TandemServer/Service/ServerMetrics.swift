internal import Synchronization

/// The counts of a server, in the text format of Prometheus. No name of a space or an account is in
/// them.
package final class ServerMetrics: Sendable {
  /// Events that are counted.
  package enum Event: CaseIterable, Sendable {
    case connectionsOpened, connectionsEnded, connectionsClosedByServer
    case streamsOpened, streamsEnded, streamsCut
    case eventsSent
    case spacesOpened, spacesClosed, spacesBusy, spaceErrors
    case authenticationFailures, tokenFileErrors
  }

  private struct Answer: Hashable {
    let route: String
    let status: Int
  }

  private struct State {
    var counts: [Event: Int] = [:]
    var answers: [Answer: Int] = [:]
    var outcomes: [String: Int] = [:]
    /// The number of commits that took at most so long, for each bound.
    var commitCounts = [Int](repeating: 0, count: ServerMetrics.commitBounds.count)
    var commitCount = 0
    var commitSeconds = 0.0
  }

  /// The bounds of the classes of the commits' durations, in seconds.
  private static let commitBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]

  private let state = Mutex(State())

  /// Counts of zero.
  package init() {}

  func count(_ event: Event, _ count: Int = 1) {
    state.withLock { $0.counts[event, default: 0] += count }
  }

  func countAnswer(_ route: String, status: Int) {
    state.withLock { $0.answers[Answer(route: route, status: status), default: 0] += 1 }
  }

  func countCommit(_ outcome: String, _ duration: Duration) {
    let seconds = duration / .seconds(1)
    state.withLock { state in
      state.outcomes[outcome, default: 0] += 1
      state.commitCount += 1
      state.commitSeconds += seconds
      for (place, bound) in Self.commitBounds.enumerated() where seconds <= bound {
        state.commitCounts[place] += 1
      }
    }
  }

  /// The metrics as text.
  package var text: String {
    let state = state.withLock { $0 }
    var lines: [String] = []
    func add(_ name: String, _ kind: String, _ help: String, _ values: [(String, String)]) {
      lines += ["# HELP \(name) \(help)", "# TYPE \(name) \(kind)"]
      lines += values.map { "\(name)\($0) \($1)" }
    }
    func count(_ event: Event) -> Int { state.counts[event] ?? 0 }
    func addGauge(_ name: String, _ help: String, _ opened: Event, _ ended: Event) {
      add(name, "gauge", help, [("", "\(count(opened) - count(ended))")])
    }
    func addCounter(_ name: String, _ help: String, _ event: Event) {
      add(name, "counter", help, [("", "\(count(event))")])
    }
    add(
      "tandem_http_requests_total", "counter", "Answered requests.",
      state.answers.sorted { ($0.key.route, $0.key.status) < ($1.key.route, $1.key.status) }.map {
        ("{route=\"\($0.key.route)\",status=\"\($0.key.status)\"}", "\($0.value)")
      })
    addGauge(
      "tandem_http_connections", "Open connections.", .connectionsOpened, .connectionsEnded)
    addCounter(
      "tandem_http_connections_opened_total", "Accepted connections.", .connectionsOpened)
    addCounter(
      "tandem_http_connections_overdue_total",
      "Connections closed because the client was too slow.",
      .connectionsClosedByServer)
    add(
      "tandem_commits_total", "counter", "Answered commits.",
      state.outcomes.sorted { $0.key < $1.key }.map { ("{outcome=\"\($0.key)\"}", "\($0.value)") })
    lines += [
      "# HELP tandem_commit_seconds Durations of commits.",
      "# TYPE tandem_commit_seconds histogram",
    ]
    for (bound, count) in zip(Self.commitBounds, state.commitCounts) {
      lines.append("tandem_commit_seconds_bucket{le=\"\(bound)\"} \(count)")
    }
    lines += [
      "tandem_commit_seconds_bucket{le=\"+Inf\"} \(state.commitCount)",
      "tandem_commit_seconds_sum \(state.commitSeconds)",
      "tandem_commit_seconds_count \(state.commitCount)",
    ]
    addGauge("tandem_event_streams", "Open event streams.", .streamsOpened, .streamsEnded)
    addCounter(
      "tandem_event_streams_cut_total", "Event streams cut because the client was too slow.",
      .streamsCut)
    addCounter("tandem_events_sent_total", "Events sent to streams.", .eventsSent)
    addGauge("tandem_spaces_open", "Open files of spaces.", .spacesOpened, .spacesClosed)
    addCounter(
      "tandem_spaces_busy_total",
      "Requests refused because all files that may be open were in use.", .spacesBusy)
    addCounter(
      "tandem_space_errors_total", "Requests that failed because of a file of a space.",
      .spaceErrors)
    addCounter(
      "tandem_authentication_failures_total", "Requests without a valid access token.",
      .authenticationFailures)
    addCounter(
      "tandem_token_file_errors_total", "Requests refused because the token file is unreadable.",
      .tokenFileErrors)
    return lines.joined(separator: "\n") + "\n"
  }
}
