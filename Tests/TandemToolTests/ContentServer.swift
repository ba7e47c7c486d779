import Synchronization
import TandemHTTP
import TandemMirror
import TestHTTPServer

/// A server with a list of items that have contents, in versions: every content is different in each
/// version, and can be gone on with by ranges.
final class ContentServer: Sendable {
  private let server: MisbehavingServer
  private let state: VersionBox

  static let itemCount = 20

  init() throws {
    let state = VersionBox()
    self.state = state
    server = try MisbehavingServer { request, connection in
      state.countRequest()
      let version = state.value
      guard request.path != "/list" else {
        return connection.respond(200, ["ETag": "\"\(version)\""], Array(Self.list(version).utf8))
      }
      let parts = request.path.split(separator: "/").compactMap { Int($0) }
      guard parts.count == 1 else { return connection.respond(404) }
      let content = Self.content(parts[0], version)
      let tag = "\"\(version)\""
      if request.fields["If-None-Match"] == tag { return connection.respond(304, ["ETag": tag]) }
      if let range = request.fields["Range"], request.fields["If-Range"] == tag,
        let start = Int(range.dropFirst(6).dropLast()), start < content.count
      {
        state.resumed()
        let field = "bytes \(start)-\(content.count - 1)/\(content.count)"
        return connection.respond(
          206, ["ETag": tag, "Content-Range": field], Array(content[start...]))
      }
      return connection.respond(200, ["ETag": tag], content)
    }
  }

  var url: String { server.url + "/list" }
  var resumptionCount: Int { state.resumptionCount }

  /// Changes the list and all contents.
  func setVersion(_ version: Int) { state.value = version }

  /// Calls `action` when so many more requests have come, before the last of them is answered.
  func call(atRequest number: Int, _ action: @escaping @Sendable () -> Void) {
    state.call(at: number, action)
  }

  func stop() { server.stop() }

  /// The items of a version: half of those of the version before, and as many new ones.
  static func ids(_ version: Int) -> Range<Int> {
    let first = version % 8 * itemCount / 2
    return first..<first + itemCount
  }

  private static func list(_ version: Int) -> String {
    let items = ids(version).map { #"{"id":\#($0),"version":\#(version),"url":"/\#($0)"}"# }
    return "[\(items.joined(separator: ","))]"
  }

  /// The content of an item in a version: some KiB, and for every tenth item more than can be sent at
  /// once.
  static func content(_ id: Int, _ version: Int) -> [UInt8] {
    let line = Array("\(id) \(version) ".utf8)
    let word = line + [UInt8](repeating: 0x2E, count: 256 - line.count)
    let count = id % 10 == 0 ? 1_200 : 16
    return [[UInt8]](repeating: word, count: count).flatMap { $0 }
  }
}

private final class VersionBox: Sendable {
  private let state = Mutex<(version: Int, resumptionCount: Int)>((0, 0))
  private let alarm = Mutex<(rest: Int, action: (@Sendable () -> Void)?)>((0, nil))

  var value: Int {
    get { state.withLock { $0.version } }
    set { state.withLock { $0.version = newValue } }
  }

  var resumptionCount: Int { state.withLock { $0.resumptionCount } }
  func resumed() { state.withLock { $0.resumptionCount += 1 } }

  func call(at number: Int, _ action: @escaping @Sendable () -> Void) {
    alarm.withLock { $0 = (number, action) }
  }

  func countRequest() {
    let action = alarm.withLock { alarm in
      alarm.rest -= 1
      return alarm.rest == 0 ? alarm.action : nil
    }
    action?()
  }
}
