import SystemLibrary
import TandemRecords
import TandemSpace
import TandemSync
import Testing

@testable import TandemServer

@Suite struct ServerMetricsTests {
  /// The samples of a text in the format of Prometheus.
  private static func samples(_ text: String) throws -> [String: Double] {
    var samples: [String: Double] = [:]
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let end = try #require(line.lastIndex(of: " "))
      let value = try #require(Double(line[end...].dropFirst()), "\(line)")
      #expect(samples.updateValue(value, forKey: String(line[..<end])) == nil, "\(line)")
    }
    return samples
  }

  @Test("Requests are counted by route with their durations, and refused ones by the reason")
  func requests() async throws {
    let test = try TestService(tokens: [.of("secret", "lovelace", .read, ["notes"])])
    try await test.makeSpace("notes")
    for _ in 0..<3 {
      #expect(await test.answer("GET", "/v1/spaces/notes", secret: "secret").status == 200)
    }
    #expect(await test.answer("GET", "/v1/spaces/notes/events", secret: "secret").status == 200)
    #expect(await test.answer("GET", "/v1/spaces/other", secret: "secret").status == 404)
    for _ in 0..<2 { #expect(await test.answer("GET", "/v1/spaces", secret: "x").status == 401) }
    let changes = "/v1/spaces/notes/changes"
    #expect(await test.answer("GET", "\(changes)?limit=0", secret: "secret").status == 400)
    _ = test.service.answer(to: .bodyTooLong)
    let text = await test.answer("GET", "/metrics", secret: "secret").text
    let samples = try Self.samples(text)
    #expect(samples["tandem_spaces"] == 1)
    #expect(try #require(samples["tandem_space_bytes"]) > 10_000)
    func value(_ name: String, _ labels: String) -> Double? { samples["\(name){\(labels)}"] }
    let name = "tandem_http_request_seconds"
    #expect(value("\(name)_count", #"route="space""#) == 4)
    #expect(value("\(name)_bucket", #"route="space",le="+Inf""#) == 4)
    #expect(value("\(name)_count", #"route="events""#) == 1)
    // A request that the header refuses has no duration.
    #expect(value("\(name)_count", #"route="spaces""#) == nil)
    for (reason, count) in [
      ("unauthenticated", 2.0), ("unknownSpace", 1), ("malformed", 1), ("overLimit", 1),
      // A series has to begin with 0.
      ("overQuota", 0), ("unavailable", 0),
    ] {
      #expect(value("tandem_http_refusals_total", "reason=\"\(reason)\"") == count, "\(reason)")
    }
    // The classes of a histogram never decrease.
    let bounds = ["0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "1.0", "5.0"]
    let counts = bounds.compactMap { value("\(name)_bucket", "route=\"space\",le=\"\($0)\"") }
    #expect(counts.count == bounds.count && counts == counts.sorted() && counts.last == 4)
    #expect(!text.contains("notes") && !text.contains("lovelace"))
  }

  @Test("Each replica that asks for changes is counted by the number of commits that it lacks")
  func lags() async throws {
    let test = try TestService()
    try await test.makeSpace("notes")
    let replica = SyncToken(bits: 7)
    var heads = [try await test.spaces.with("notes") { try await $0.state().head }]
    for sequence in 1...2 {
      let commit = SyncCommit(
        replica: replica, sequence: sequence, id: SyncToken(bits: UInt128(sequence)),
        base: heads[sequence - 1],
        changes: [
          SyncChange(
            key: SyncKey(table: "t", id: [.integer(Int64(sequence))]), verb: .insert(["a": 1]))
        ])
      let outcome = try await test.spaces.with("notes") { try await $0.commit(commit) }
      if case .accepted(let head, _) = outcome { heads.append(head) }
    }
    try #require(heads.count == 3)
    for since in [heads[0], heads[2], heads[2]] {
      let path = "/v1/spaces/notes/changes?since=\(since)"
      #expect(await test.answer("GET", path).status == 200)
    }
    let samples = try Self.samples(test.service.metrics.text)
    let name = "tandem_pull_commits_behind"
    for (bound, count) in [("0.0", 2.0), ("1.0", 2), ("10.0", 3), ("+Inf", 3)] {
      #expect(samples["\(name)_bucket{le=\"\(bound)\"}"] == count, "\(bound)")
    }
    #expect(samples["\(name)_sum"] == 2)
  }

  @Test("The version and the process are metrics, each with a help and a type")
  func process() throws {
    let text = ServerMetrics(version: "1.2.3").text
    let samples = try Self.samples(text)
    #expect(samples[#"tandem_build_info{version="1.2.3"}"#] == 1)
    #expect(!ServerMetrics().text.contains("build_info"))
    let cpu = try #require(samples["process_cpu_seconds_total"])
    #expect(cpu > 0)
    #if os(Linux)
      let resident = try #require(samples["process_resident_memory_bytes"])
      let virtual = try #require(samples["process_virtual_memory_bytes"])
      #expect(resident > 1_000_000 && resident < virtual)
      let start = try #require(samples["process_start_time_seconds"])
      let now = Double(millisecondsSince1970()) / 1_000
      #expect(start <= now && start > now - 86_400)
      let open = try #require(samples["process_open_fds"])
      #expect(open >= 3 && open <= Double(OpenFileLimit.current))
    #endif
    let names = text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }
      .compactMap { $0.split(separator: " ").dropFirst(2).first }
    #expect(Set(names).count == names.count)
    for name in names { #expect(text.contains("# HELP \(name) "), "\(name)") }
  }
}
