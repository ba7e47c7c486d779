import Tandem
import TandemServer

/// The commits of the space, as its server reports them to any program: an event stream, which
/// Documentation/Protocol.md describes.
struct SpaceEvents: Sendable {
  /// The address of the space on its server.
  let url: String
  /// The spaces of the server, which know the replica of each commit.
  let spaces: any ServedSpaces
  /// The replica that the feed is mirrored into.
  let feed: String

  private static let pause = Duration.seconds(1)

  /// Shows the state and each commit on a stage, until the task is cancelled.
  func follow(on stage: Stage) async throws {
    let client = try SystemHTTPClient()
    while true {
      do {
        try await followOnce(by: client, on: stage)
      } catch is TransportError {
        // The server closes the streams of slow readers.
      }
      try await Task.sleep(for: SpaceEvents.pause)
    }
  }

  private func followOnce(by client: SystemHTTPClient, on stage: Stage) async throws {
    let events = try await client.stream(HTTPRequest(url: "\(url)/events"))
    let state = try await client.response(to: HTTPRequest(url: url), maxBodyByteCount: 1 << 20)
    guard events.head.isSuccess, state.head.isSuccess else {
      throw DemoError("\(url) answers with status \(events.head.status)")
    }
    try await show(state.body, on: stage)
    var line: [UInt8] = []
    for try await bytes in events.body {
      for byte in bytes {
        guard byte == UInt8(ascii: "\n") else {
          line.append(byte)
          continue
        }
        if line.starts(with: "data:".utf8) { try await show(Array(line.dropFirst(5)), on: stage) }
        line = []
      }
    }
  }

  private func show(_ json: [UInt8], on stage: Stage) async throws {
    guard let state = try RecordReader.records(in: json, format: .ndjson).first,
      case .text(let revisionText) = state["revision"], let revision = SpaceRevision(revisionText),
      case .text(let digest) = state["digest"]
    else { return }
    var changeCount: Int?
    if case .text(let changes) = state["changes"] {
      changeCount = try RecordReader.records(in: changes, format: .json).count
    }
    var commit: Stage.Commit?
    if let changeCount {
      let replica = try await replica(of: revision.version)
      commit = Stage.Commit(
        changes: changeCount, replica: replica, author: replica == feed ? "Feed" : nil)
    }
    try await stage.show(revision: revision.version, digest: digest, commit)
  }

  /// The replica that made a commit; `nil` if the last commits do not include it.
  private func replica(of version: Int) async throws -> String? {
    let commits = try await spaces.with(Demo.spaceName, creates: false) { space in
      try await space.inspection(maxCount: SpaceEvents.maxLookup).commits
    }
    return commits.first { $0.version == version }?.replica.description
  }

  private static let maxLookup = 100
}
