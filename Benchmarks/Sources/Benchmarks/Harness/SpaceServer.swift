import Foundation

/// A `tandem serve` on loopback, with spaces of places.
final class SpaceServer {
  let url: String
  let port: UInt16
  private let program: RunningProgram
  /// Kept, so that the files stay, or the server of the database.
  private let store: AnyObject
  private var spaceCount = 0

  /// - Parameter folder: The folder of the spaces; on a disk, if commits are to be measured.
  convenience init(in folder: TemporaryFolder) throws {
    try self.init(["--data", folder.path("spaces")], store: folder)
  }

  /// A node of spaces in a database.
  convenience init(on database: PostgreSQLServer) throws {
    try self.init(
      ["--store", database.address, "--create-store", "--max-spaces", "100000"], store: database)
  }

  private init(_ options: [String], store: AnyObject) throws {
    self.store = store
    program = try RunningProgram(
      Program.tandem(), ["serve", "--listen", "127.0.0.1:0", "--json"] + options)
    let parts = try program.nextLine(withinMilliseconds: 10_000)?.split(separator: "\"") ?? []
    guard let url = parts.first(where: { $0.hasPrefix("http://") }),
      let port = url.split(separator: ":").last.flatMap({ UInt16($0) })
    else { throw Program.Failure(description: "tandem serve does not listen") }
    self.url = String(url)
    self.port = port
  }

  /// The memory that it occupies, in bytes.
  var residentByteCount: Int {
    let status = try? String(contentsOfFile: "/proc/\(program.process)/status", encoding: .utf8)
    let line = status?.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return (line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0) << 10
  }

  /// Makes a space with a name of its own; returns the name and the first revision.
  func makeSpace() throws -> (name: String, base: String) {
    spaceCount += 1
    let name = "space\(port)-\(spaceCount)"
    return (name, try makeSpace(name))
  }

  /// Declares the table of places in a space, which creates it; returns its first revision.
  func makeSpace(_ name: String) throws -> String {
    let connection = try SpaceConnection(port: port)
    try connection.post(
      "/v1/spaces/\(name)/tables",
      #"[{"name":"place","key":["id"],"columns":["name","population"],"granularity":"field"}]"#)
    _ = try connection.answer()
    try connection.get("/v1/spaces/\(name)")
    let parts = try connection.answer().split(separator: "\"")
    guard let place = parts.firstIndex(of: "revision"), parts.count > place + 2 else {
      throw Program.Failure(description: "the space \(name) has no revision")
    }
    return String(parts[place + 2])
  }
}

/// A connection to a server, by the calls of the system alone, so that the server is measured and not
/// its client.
final class SpaceConnection {
  let descriptor: Int32
  private var bytes: [UInt8] = []

  init(port: UInt16) throws {
    #if canImport(Glibc)
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
    }
    guard status == 0 else { throw Program.Failure(description: "cannot connect to \(port)") }
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
  }

  deinit { close(descriptor) }

  func get(_ target: String) throws {
    try write("GET \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
  }

  func post(_ target: String, _ body: String) throws {
    try write(
      "POST \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
  }

  private func write(_ text: String) throws {
    let data = Array(text.utf8)
    guard send(descriptor, data, data.count, 0) == data.count else {
      throw Program.Failure(description: "the server does not read")
    }
  }

  /// Reads what is there, and waits if nothing is; returns the number of bytes.
  @discardableResult
  func read() throws -> Int {
    var chunk = [UInt8](repeating: 0, count: 16 << 10)
    let count = recv(descriptor, &chunk, chunk.count, 0)
    guard count > 0 else { throw Program.Failure(description: "the server has closed") }
    bytes += chunk[..<count]
    return count
  }

  /// The body of an answer that has arrived as a whole; `nil` if there is none yet.
  func completeAnswer() -> String? {
    guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
    let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).lowercased()
    let length = head.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
      .flatMap { Int($0.dropFirst(15).filter(\.isNumber)) }
    guard let length, bytes.count >= end.upperBound + length else { return nil }
    defer { bytes.removeFirst(end.upperBound + length) }
    return String(decoding: bytes[end.upperBound..<(end.upperBound + length)], as: UTF8.self)
  }

  func answer() throws -> String {
    while true {
      if let answer = completeAnswer() { return answer }
      try read()
    }
  }

  /// Reads on until an event has arrived as a whole; a heartbeat is none.
  func readEvent() throws {
    let (data, end) = (Array("\ndata:".utf8), Array("\n\n".utf8))
    while true {
      if let start = bytes.firstRange(of: data)?.upperBound,
        let rest = bytes[start...].firstRange(of: end)?.upperBound
      {
        bytes.removeFirst(rest)
        return
      }
      try read()
    }
  }

  /// Waits until one of some connections has something to read; returns those that have.
  static func readable(_ connections: [SpaceConnection]) throws -> [SpaceConnection] {
    var requests = connections.map {
      pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0)
    }
    // More than once: a wait may end because the machine was paused, before the server runs again.
    for _ in 0..<6 where poll(&requests, nfds_t(requests.count), 10_000) > 0 {
      return zip(connections, requests).filter { $0.1.revents != 0 }.map(\.0)
    }
    throw Program.Failure(description: "the server does not answer")
  }
}

/// A replica that makes commits of one inserted row, one after the other.
struct SpaceWriter {
  let connection: SpaceConnection
  private let target: String
  private let base: String
  private let replica = token()
  private var sequence = 0

  init(_ connection: SpaceConnection, space: String, base: String) {
    self.connection = connection
    self.base = base
    target = "/v1/spaces/\(space)/commits"
  }

  /// Sends the next commit.
  mutating func commit() throws {
    sequence += 1
    let id = Self.token()
    try connection.post(
      target,
      #"{"replica":"\#(replica)","sequence":\#(sequence),"commit":"\#(id)","base":"\#(base)","#
        + #""changes":[{"table":"place","id":["\#(id)"],"#
        + #""insert":{"name":"Place number 7","population":55433}}]}"#)
  }

  private static func token() -> String {
    (0..<2).map { _ in
      let text = String(UInt64.random(in: 0...UInt64.max), radix: 16)
      return String(repeating: "0", count: 16 - text.count) + text
    }.joined()
  }
}
