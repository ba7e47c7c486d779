import Tandem
import TandemServer

/// A web server for the page alone, on this machine alone.
///
/// Programs of this machine can reach it, and so can every web page in its browser. So requests of
/// other pages are refused: by `Origin`, and by `Host`, which shows a name of an attacker that
/// leads to this machine.
final class Site: HTTPResponder {
  /// The answer to a request.
  enum Reply: Sendable {
    case answer(HTTPAnswer)
    case done
    case events(@Sendable (EventStream) async throws -> Void)
    case missing
  }

  private let origins: [String]
  private let reply: @Sendable (ServedRequest) async throws -> Reply
  private let streams: AsyncStream<@Sendable () async -> Void>
  private let streamsContinuation: AsyncStream<@Sendable () async -> Void>.Continuation

  /// A site for the page at a port.
  init(
    forPageAt port: UInt16, reply: @escaping @Sendable (ServedRequest) async throws -> Reply
  ) {
    origins = ["http://127.0.0.1:\(port)", "http://localhost:\(port)"]
    self.reply = reply
    (streams, streamsContinuation) = AsyncStream.makeStream()
  }

  /// Sends events until the task is cancelled.
  func run() async {
    await withDiscardingTaskGroup { group in
      for await stream in streams { group.addTask(operation: stream) }
    }
  }

  func admission(of head: ServedRequestHead) -> HTTPAdmission {
    let host = head.field("host")?.split(separator: ":").first
    let origin = head.field("origin")
    guard host == "127.0.0.1" || host == "localhost",
      origin.map(origins.contains) ?? (head.method == "GET")
    else { return .refused(HTTPAnswer(status: 403, "Only the page of the demo may do this.")) }
    return .accepted(client: nil)
  }

  func answer(_ request: ServedRequest) async -> HTTPAnswer {
    var answer: HTTPAnswer
    do {
      answer = self.answer(try await reply(request))
    } catch {
      answer = HTTPAnswer(status: 400, "\(error)")
    }
    if let origin = request.head.field("origin") {
      answer.fields += [("Access-Control-Allow-Origin", origin), ("Vary", "Origin")]
    }
    answer.fields += [("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")]
    return answer
  }

  func answer(to trouble: ServerTrouble) -> HTTPAnswer {
    switch trouble {
    case .malformedHead: HTTPAnswer(status: 400, "The header is not valid.")
    case .bodyTooLong, .unexpectedBody: HTTPAnswer(status: 413, "Send less.")
    case .overloaded, .clientOverloaded, .stopping: HTTPAnswer(status: 503, "Try again.")
    }
  }

  private func answer(_ reply: Reply) -> HTTPAnswer {
    switch reply {
    case .answer(let answer): return answer
    case .done: return HTTPAnswer(type: "application/json", Array("{}".utf8))
    case .missing: return HTTPAnswer(status: 404, "There is no such address.")
    case .events(let send):
      let stream = EventStream()
      streamsContinuation.yield { try? await send(stream) }
      return HTTPAnswer(
        status: 200, fields: [("Content-Type", "text/event-stream")], content: .stream(stream.body))
    }
  }
}
