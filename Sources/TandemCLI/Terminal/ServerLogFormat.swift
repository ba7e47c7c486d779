import Tandem
import TandemServer

/// The lines of a ``ServerLog``. No text of a client can end a line, or control a terminal.
struct ServerLogFormat: Sendable {
  let isJSON: Bool
  /// True if lines begin with their level, as `<4>`, for the journal of systemd, which adds the time.
  let isForJournal: Bool

  /// The line of an event.
  ///
  /// - Parameter time: In milliseconds since 1970.
  func line(of event: ServerEvent, time: Int) -> [UInt8] {
    var event = event
    event.message = LibraryNames.replaced(in: event.message)
    let prefix = isForJournal ? "<\(event.level.rawValue)>" : ""
    let line =
      isJSON
      ? json(event, time) : isForJournal ? text(event) : "\(Quantity.time(time)) \(text(event))"
    return Array("\(prefix)\(line.escapingControls())\n".utf8)
  }

  private func text(_ event: ServerEvent) -> String {
    var words = [event.level.name]
    func add(_ name: String, _ value: String?) {
      if let value { words.append("\(name)=\(Self.word(value))") }
    }
    add("address", event.address)
    add("account", event.account)
    add("space", event.space)
    add("status", event.status.map { "\($0)" })
    add("reason", event.reason)
    add("duration", event.duration.map { "\(Self.milliseconds($0))ms" })
    add("bytes", event.byteCount.map { "\($0)" })
    if let method = event.method { words.append(Self.quoted("\(method) \(event.path ?? "")")) }
    if !event.message.isEmpty { words.append(event.message) }
    return words.joined(separator: " ")
  }

  private func json(_ event: ServerEvent, _ time: Int) -> String {
    var bytes: [UInt8] = []
    bytes.appendJSON { json in
      json.object { json in
        func add(_ name: String, _ value: String?) {
          if let value { json.field(name, value) }
        }
        json.field("time", Quantity.time(time))
        json.field("level", event.level.name)
        add("address", event.address)
        add("account", event.account)
        add("space", event.space)
        if let status = event.status { json.field("status", status) }
        add("reason", event.reason)
        if let duration = event.duration {
          json.field("milliseconds") { json in
            json.scalar { $0 += Self.milliseconds(duration).utf8 }
          }
        }
        if let byteCount = event.byteCount { json.field("bytes", byteCount) }
        add("method", event.method)
        add("path", event.path)
        if !event.message.isEmpty { json.field("message", event.message) }
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// A value that ends at the next space.
  private static func word(_ text: String) -> String {
    let isPlain = !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 }
    return isPlain ? text : quoted(text)
  }

  private static func quoted(_ text: String) -> String {
    var bytes: [UInt8] = []
    bytes.appendJSON { $0.write(text) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Milliseconds with three decimals.
  private static func milliseconds(_ duration: Duration) -> String {
    let microseconds = max(0, Int(duration / .microseconds(1)))
    return "\(microseconds / 1_000).\(String(microseconds % 1_000 + 1_000).dropFirst())"
  }
}

extension ServerLogFormat {
  /// The format for standard error, which may be the journal of systemd.
  init(_ form: ServerLog.Form) {
    var status = stat()
    let stream = getenv("JOURNAL_STREAM").map { String(cString: $0) }
    let isForJournal =
      fstat(STDERR_FILENO, &status) == 0 && stream == "\(status.st_dev):\(status.st_ino)"
    self.init(isJSON: form == .json, isForJournal: isForJournal)
  }
}
