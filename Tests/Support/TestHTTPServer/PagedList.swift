internal import Synchronization
internal import TandemDigests
internal import TandemHTTP

/// A list of numbered records, two to a page, that changes between two requests when a test says so.
///
/// Pages are told apart by where they begin, so that whatever is deleted moves what comes after it. Their
/// entity tags are of the content alone, and a 304 has no other field.
package final class PagedList: Sendable {
  /// How one page leads to the next.
  package enum Paging: String, CaseIterable, Sendable {
    case offset, number, cursor, link
  }

  /// What is there.
  package struct Contents: Sendable {
    package var ids: [Int]
    /// The pages without an entity tag, by number from 0.
    package var untaggedPages: Set<Int> = []
    /// Whether a page after the end is a 404.
    package var hasEnd = false
  }

  private struct State {
    var contents: Contents
    var visits: [Int: Int] = [:]
    var changes: [Visit: @Sendable (inout Contents) -> Void] = [:]
  }

  private struct Visit: Hashable {
    var page: Int
    var number: Int
  }

  /// The state of the server, which has to be there before the server is.
  private final class Box: Sendable {
    let state: Mutex<State>
    init(_ state: State) { self.state = Mutex(state) }
  }

  package static let pageRecordCount = 2
  package let paging: Paging
  private let box: Box
  private let server: MisbehavingServer

  /// Serves records of these numbers.
  package init(_ paging: Paging, ids: ClosedRange<Int>) throws {
    self.paging = paging
    let box = Box(State(contents: Contents(ids: Array(ids))))
    self.box = box
    server = try MisbehavingServer { request, connection in
      Self.answer(request, connection, paging, box)
    }
  }

  deinit { server.stop() }

  package var url: String { server.url + "/list" }
  package var requests: [MisbehavingServer.Request] { server.requests }

  /// Changes what is there, now.
  package func change(_ change: (inout Contents) -> Void) {
    box.state.withLock { change(&$0.contents) }
  }

  /// Changes what is there before a page is answered for that time, counted from 1.
  package func change(
    atVisit number: Int, ofPage page: Int, _ change: @escaping @Sendable (inout Contents) -> Void
  ) {
    box.state.withLock { $0.changes[Visit(page: page, number: number)] = change }
  }

  // MARK: Answers

  private static func answer(
    _ request: MisbehavingServer.Request, _ connection: Connection, _ paging: Paging, _ box: Box
  ) -> Bool {
    let start = start(of: request.path, paging)
    let page = start / pageRecordCount
    let contents = box.state.withLock { state in
      state.visits[page, default: 0] += 1
      state.changes[Visit(page: page, number: state.visits[page] ?? 0)]?(&state.contents)
      return state.contents
    }
    if contents.hasEnd, page > 0, start >= contents.ids.count { return connection.respond(404) }
    let body = Array(text(contents, from: start, paging).utf8)
    var fields: HTTPFields = ["Content-Type": "application/json"]
    if !contents.untaggedPages.contains(page) {
      fields["ETag"] = "\"\(SHA256Digest(of: body))\""
      if fields["ETag"] == request.fields["If-None-Match"] { return connection.respond(304) }
    }
    if paging == .link { fields["Link"] = next(contents, from: start).map { "<\($0)>; rel=next" } }
    return connection.respond(200, fields, body)
  }

  private static func start(of path: String, _ paging: Paging) -> Int {
    guard let number = path.split(separator: "=").dropFirst().last.flatMap({ Int($0) }) else {
      return 0
    }
    return paging == .number ? (number - 1) * pageRecordCount : number
  }

  private static func text(_ contents: Contents, from start: Int, _ paging: Paging) -> String {
    let records = contents.ids.dropFirst(start).prefix(pageRecordCount).map { #"{"id":\#($0)}"# }
    let list = "[\(records.joined(separator: ","))]"
    guard paging == .cursor else { return list }
    let next = next(contents, from: start).map { "\"\($0)\"" } ?? "null"
    return #"{"items":\#(list),"next":\#(next)}"#
  }

  private static func next(_ contents: Contents, from start: Int) -> String? {
    let end = start + pageRecordCount
    return end < contents.ids.count ? "/list?at=\(end)" : nil
  }
}
