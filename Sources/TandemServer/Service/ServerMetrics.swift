internal import Synchronization
internal import TandemSync

/// The counts of a server, in the text format of Prometheus. No name of a space or an account is in
/// them.
package final class ServerMetrics: Sendable {
  /// Events that are counted.
  package enum Event: CaseIterable, Sendable {
    case connectionsOpened, connectionsEnded, connectionsClosedByServer, connectionsRefused
    case bytesSent, bytesReceived
    case streamsOpened, streamsEnded, streamsCut
    case eventsSent
    case spacesOpened, spacesClosed, spacesBusy, spaceErrors
    case authenticationFailures, tokenFileErrors, addressesBanned
  }

  /// A value that is read when the metrics are.
  package struct Gauge: Sendable {
    let name: String
    let help: String
    let value: Int
  }

  private struct Answer: Hashable {
    let route: String
    let status: Int
  }

  /// The numbers since the start. Durations have histograms of their own, because an answer is counted when it begins, and
  /// a request when it ends.
  private struct State {
    var counts: [Event: Int] = [:]
    var answers: [Answer: Int] = [:]
    /// The refused requests by the code of the refusal. A series that begins with its first event would hide it from
    /// `rate`.
    var refusals = Dictionary(
      uniqueKeysWithValues: [
        SyncRequestError.Code.malformed, .overLimit, .overQuota, .tooManyRequests, .unauthenticated,
        .unauthorized, .unavailable, .unknownSpace,
      ].map { ($0.name, 0) })
    var outcomes: [String: Int] = [:]
    var commits = Histogram(Histogram.seconds)
    /// The durations of requests by their route.
    var requests: [String: Histogram] = [:]
    /// The numbers of commits that replicas lacked when they asked for changes.
    var lags = Histogram([0, 1, 10, 100, 1_000, 10_000])
  }

  /// The distribution of durations or of numbers.
  private struct Histogram {
    /// The bounds of durations, in seconds.
    static let seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]

    let bounds: [Double]
    /// The number of values up to each bound.
    var counts: [Int]
    var count = 0
    var sum = 0.0

    init(_ bounds: [Double]) {
      self.bounds = bounds
      counts = bounds.map { _ in 0 }
    }

    mutating func add(_ value: Double) {
      count += 1
      sum += value
      for (place, bound) in bounds.enumerated() where value <= bound { counts[place] += 1 }
    }

    /// The lines of a metric; `label` is empty, or as `route="commits"`.
    func lines(_ name: String, _ label: String = "") -> [String] {
      let first = label.isEmpty ? "" : label + ","
      let labels = label.isEmpty ? "" : "{\(label)}"
      return zip(bounds, counts).map { "\(name)_bucket{\(first)le=\"\($0)\"} \($1)" } + [
        "\(name)_bucket{\(first)le=\"+Inf\"} \(count)", "\(name)_sum\(labels) \(sum)",
        "\(name)_count\(labels) \(count)",
      ]
    }
  }

  private let version: String?
  private let following: Following?
  private let state = Mutex(State())
  private let gauges = Mutex<[@Sendable () -> [Gauge]]>([])

  /// Counts of zero.
  ///
  /// - Parameters:
  ///   - version: The version of the program, which is a metric; `nil` for none.
  ///   - following: What the server follows, whose counts are metrics; `nil` for none.
  package init(version: String? = nil, following: Following? = nil) {
    self.version = version
    self.following = following
  }

  /// Adds gauges, whose values `read` returns. It must not wait.
  package func add(_ read: @escaping @Sendable () -> [Gauge]) {
    gauges.withLock { $0.append(read) }
  }

  func count(_ event: Event, _ count: Int = 1) {
    state.withLock { $0.counts[event, default: 0] += count }
  }

  /// Counts an answer.
  ///
  /// - Parameter refusal: The code of the refusal; `nil` if the answer is none.
  func countAnswer(_ route: String, status: Int, refusal: String? = nil) {
    state.withLock { state in
      state.answers[Answer(route: route, status: status), default: 0] += 1
      if let refusal { state.refusals[refusal, default: 0] += 1 }
    }
  }

  /// Counts the duration of a request until its answer, or its event stream, begins.
  func countRequest(_ route: String, _ duration: Duration) {
    state.withLock {
      $0.requests[route, default: Histogram(Histogram.seconds)].add(duration / .seconds(1))
    }
  }

  func countCommit(_ outcome: String, _ duration: Duration) {
    state.withLock { state in
      state.outcomes[outcome, default: 0] += 1
      state.commits.add(duration / .seconds(1))
    }
  }

  /// Counts a replica that asks for changes.
  func countPull(lacking commitCount: Int) {
    state.withLock { $0.lags.add(Double(commitCount)) }
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
    func addHistogram(_ name: String, _ help: String, _ values: [String]) {
      lines += ["# HELP \(name) \(help)", "# TYPE \(name) histogram"] + values
    }
    if let version {
      add(
        "tandem_build_info", "gauge", "The version of the server.",
        [("{version=\"\(version)\"}", "1")])
    }
    add(
      "tandem_http_requests_total", "counter", "Answered requests.",
      state.answers.sorted { ($0.key.route, $0.key.status) < ($1.key.route, $1.key.status) }.map {
        ("{route=\"\($0.key.route)\",status=\"\($0.key.status)\"}", "\($0.value)")
      })
    add(
      "tandem_http_refusals_total", "counter", "Refused requests by the code of the refusal.",
      state.refusals.sorted { $0.key < $1.key }.map { ("{reason=\"\($0.key)\"}", "\($0.value)") })
    addHistogram(
      "tandem_http_request_seconds",
      "Durations of requests that were let in, until the begin of the answer.",
      state.requests.sorted { $0.key < $1.key }.flatMap {
        $0.value.lines("tandem_http_request_seconds", "route=\"\($0.key)\"")
      })
    addGauge(
      "tandem_http_connections", "Open connections.", .connectionsOpened, .connectionsEnded)
    addCounter(
      "tandem_http_connections_opened_total", "Accepted connections.", .connectionsOpened)
    addCounter(
      "tandem_http_connections_overdue_total",
      "Connections closed because the client was too slow.",
      .connectionsClosedByServer)
    addCounter(
      "tandem_http_connections_refused_total",
      "Connections closed at once because of their number, and pauses because of that of files.",
      .connectionsRefused)
    addCounter(
      "tandem_http_sent_bytes_total", "Bytes of the bodies of answers, as they were sent.",
      .bytesSent)
    addCounter(
      "tandem_http_received_bytes_total", "Bytes of the bodies of requests.", .bytesReceived)
    add(
      "tandem_commits_total", "counter", "Answered commits.",
      state.outcomes.sorted { $0.key < $1.key }.map { ("{outcome=\"\($0.key)\"}", "\($0.value)") })
    addHistogram(
      "tandem_commit_seconds", "Durations of commits.", state.commits.lines("tandem_commit_seconds")
    )
    addHistogram(
      "tandem_pull_commits_behind", "Commits that replicas lacked when they asked for changes.",
      state.lags.lines("tandem_pull_commits_behind"))
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
    addCounter(
      "tandem_addresses_banned_total", "Addresses banned after wrong access tokens.",
      .addressesBanned)
    if let following, following.isFollowing {
      let status = following.status
      for (name, help, value) in [
        (
          "seconds_behind", "The time since all copies were those of the leader.",
          following.secondsBehind
        ), ("spaces", "The spaces that are followed.", status.spaceCount),
        ("failed_spaces", "The spaces that could not be brought in step.", status.failedCount),
      ] {
        add("tandem_follower_\(name)", "gauge", help, [("", "\(value)")])
      }
    }
    for gauge in gauges.withLock({ $0 }).flatMap({ $0() }) {
      add(gauge.name, "gauge", gauge.help, [("", "\(gauge.value)")])
    }
    for metric in ProcessMetrics.all {
      add(metric.name, metric.kind, metric.help, [("", metric.value)])
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
