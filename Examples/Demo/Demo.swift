import Tandem
package import TandemServer

/// A page with two phones, and everything behind it: the server of the space, the feed and its
/// mirror, and a process for each phone.
package struct Demo: Sendable {
  static let spaceName = "demo"

  private let port: UInt16
  private let folder: Folder
  private let services: [SyncService]

  /// A demo that keeps its files in a folder; without one, in a temporary folder, which is removed
  /// at the end.
  ///
  /// - Parameters:
  ///   - port: The port of the page; 0 picks a free one.
  ///   - spaces: The spaces of each server; the phones use different ones. Without any, one server keeps the space in
  ///     a file.
  package init(port: UInt16, folder: String?, spaces: [any ServedSpaces] = []) throws {
    self.port = port
    self.folder = try Folder(folder)
    services =
      spaces.isEmpty
      ? [try SyncService(spacesIn: "\(self.folder.path)/spaces")]
      : spaces.map { SyncService(spaces: $0, tokens: nil) }
  }

  /// Two lines for a shell: the first one changes the file of one phone, and the second one shows
  /// the change in the file of the other phone.
  package var statements: [String] {
    [
      Phones.change(Phone.file("a", in: folder.path)),
      Phones.look(Phone.file("b", in: folder.path)),
    ]
  }

  /// Opens an address in a browser; false if there is none, or if nobody would see it.
  package static func openBrowser(_ url: String) -> Bool { Program.openBrowser(url) }

  /// Runs until the task is cancelled; then ends the phones.
  ///
  /// - Parameter ready: Called with the address of the page, once both phones are there.
  package func run(ready: @escaping @Sendable (String) -> Void) async throws {
    defer { folder.end() }
    let folder = folder.path
    // The servers of the space: the same as `tandem serve`.
    let spaces = try services.map { service in
      try HTTPServer(
        ListeningSocket(host: "127.0.0.1", port: 0, allowsOthers: false), responder: service)
    }
    let space = try SyncSpace.server(spaces[0].url, space: Demo.spaceName)

    // The page and the feed.
    let database = try Database(path: "\(folder)/server.db")
    let stage = try await Stage(in: database)
    let feed = try await Feed(in: database)
    let mirrored = try await MirroredFeed(in: folder)
    let socket = try pageSocket()
    let phones = Phones(
      program: try Program.own(),
      settings: PhoneSettings(name: "", folder: folder, server: "", page: Int(socket.port)),
      servers: spaces.map(\.url), stage: stage)
    let site = Site(forPageAt: socket.port) { request in
      try await reply(to: request, stage, feed, mirrored, phones)
    }
    let server = try HTTPServer(socket, responder: site)

    try await withThrowingTaskGroup(of: Void.self) { group in
      for server in spaces { group.addTask { await server.run() } }
      group.addTask { await server.run() }
      try await Schema.attach(mirrored.replica, to: space)
      group.addTask {
        try await mirrored.run(from: "\(server.url)/places.json", space: space) { report in
          try await stage.show(report: report)
        }
      }
      let events = SpaceEvents(
        url: "\(spaces[0].url)/v1/spaces/\(Demo.spaceName)", spaces: services[0].spaces,
        feed: try await mirrored.replica.status().replica)
      group.addTask { try await events.follow(on: stage) }
      group.addTask { try await phones.run() }
      group.addTask {
        var isReady = false
        for try await rows in LiveQuery(table: "phone").values(in: database) where !isReady {
          isReady = rows.count == Phones.names.count
          if isReady { ready(server.url) }
        }
      }
      try await group.next()
      try Task.checkCancellation()
      throw DemoError("a part of the demo has ended by itself")
    }
  }

  private func pageSocket() throws -> ListeningSocket {
    do {
      return try ListeningSocket(host: "127.0.0.1", port: port, allowsOthers: false)
    } catch {
      throw DemoError("\(error); choose another port with --port")
    }
  }

  /// Answers the page.
  private func reply(
    to request: ServedRequest, _ stage: Stage, _ feed: Feed, _ mirrored: MirroredFeed,
    _ phones: Phones
  ) async throws -> Site.Reply {
    let parts = request.head.path.split(separator: "/").map(String.init)
    switch (request.head.method, parts) {
    case ("GET", ["events"]):
      return .events { try await stage.send(to: $0, feed: feed, records: mirrored.database) }
    case ("GET", ["places.json"]):
      let (json, tag) = try await feed.list()
      let isKnown = request.head.field("if-none-match") == tag
      return .answer(
        HTTPAnswer(
          status: isKnown ? 304 : 200,
          fields: [("Content-Type", "application/json"), ("ETag", tag)],
          content: .bytes(isKnown ? [] : json)))
    case ("GET", _): return PageFiles.reply(to: request.head.path)
    case ("POST", let parts) where parts.count == 2 && parts[0] == "feed":
      return try await feed.perform(parts[1], on: request.body) ? .done : .missing
    case ("POST", ["phones", "kill"]):
      phones.kill(try JSON.read(PhoneName.self, request.body).phone)
      return .done
    case ("POST", ["phones", "start"]):
      phones.start(try JSON.read(PhoneName.self, request.body).phone)
      return .done
    default: return .missing
    }
  }

  private struct PhoneName: Decodable { var phone: String }
}
