import Dispatch
import SystemLibrary
import Tandem
import TandemServer

extension Demo {
  /// Runs one phone: the process that the demo starts for each. Its settings come on standard
  /// input, and it ends with that.
  package static func runPhone() async throws {
    guard let line = readLine(from: STDIN_FILENO) else {
      throw DemoError("a phone needs its settings on standard input")
    }
    let settings = try JSON.read(PhoneSettings.self, Array(line.utf8))
    let space = try SyncSpace.server(settings.server, space: Demo.spaceName)
    let phone = try await Phone(named: settings.name, in: settings.folder, space: space)
    let site = Site(forPageAt: UInt16(clamping: settings.page)) { try await phone.reply(to: $0) }
    let server = try HTTPServer(
      ListeningSocket(host: "127.0.0.1", port: 0, allowsOthers: false), responder: site)

    let end = Once<Void>()
    DispatchQueue.global().async {
      while readLine(from: STDIN_FILENO) != nil {}
      end.come(())
    }
    print(server.url)
    fflush(nil)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await server.run() }
      group.addTask { try await phone.run() }
      group.addTask { await end.value() }
      try await group.next()
      group.cancelAll()
      end.come(())
    }
    await phone.database.close()
  }
}

extension Phone {
  /// Answers the page.
  func reply(to request: ServedRequest) async throws -> Site.Reply {
    let parameters = Dictionary(request.head.parameters ?? []) { first, _ in first }
    switch (request.head.method, request.head.path) {
    case ("GET", "/events"):
      return .events { stream in
        try await send(
          to: stream, order: parameters["order"] ?? "score",
          onlyFavourites: parameters["only"] == "favourites")
      }
    case ("GET", "/panel"):
      let zone = parameters["place"] ?? ""
      return .events { stream in try await sendPanel(of: zone, to: stream) }
    case ("POST", let path):
      return try await perform(String(path.dropFirst()), on: request.body) ? .done : .missing
    default: return .missing
    }
  }
}

extension Dictionary {
  /// The pairs of a query; of two with the same name, `choose` takes one.
  fileprivate init(_ pairs: [(name: Key, value: Value)], _ choose: (Value, Value) -> Value) {
    self.init(pairs.map { ($0.name, $0.value) }, uniquingKeysWith: choose)
  }
}
