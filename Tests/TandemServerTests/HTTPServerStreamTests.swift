import TandemServer
import Testing

/// Answers that are sent as they arise, and the end of a server.
@Suite(.timeLimit(.minutes(20))) struct HTTPServerStreamTests {
  @Test("A stream sends bytes as they arise, and ends for a client that reads too slowly")
  func slowReader() async throws {
    try await TestHTTP.with { http in
      let connection = try http.connect(receiveBufferByteCount: 4_096)
      await connection.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
      let stream = await http.responder.stream()
      stream.send(Array("first".utf8))
      #expect(await connection.text(until: "first").contains("chunked"))
      let piece = [UInt8](repeating: 0x78, count: 16_000)
      while stream.send(piece) {}
      #expect(!stream.isOpen)
      // The client gets what was sent before, and the end.
      #expect(
        await connection.receive { $0.suffix(5) == Array("0\r\n\r\n".utf8)[...] }.count < 1 << 20)
      try await http.expectService()
    }
  }

  @Test("A stream whose client has left is noticed by sending")
  func lostReader() async throws {
    try await TestHTTP.with { http in
      var connection: RawConnection? = try http.connect()
      await connection?.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
      let stream = await http.responder.stream()
      stream.send(Array("first".utf8))
      _ = await connection?.text(until: "first")
      connection = nil
      while stream.send([0x0A]) { try await Task.sleep(for: .milliseconds(5)) }
    }
  }

  @Test("Stopping ends all streams, and answers the requests that are under way")
  func gracefulStop() async throws {
    let http = try TestHTTP()
    let run = Task { await http.server.run() }
    var readers: [RawConnection] = []
    for _ in 0..<500 {
      let reader = try http.connect()
      await reader.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
      readers.append(reader)
    }
    for _ in 0..<500 { _ = await http.responder.stream() }
    let slow = try http.connect()
    await slow.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
    await http.responder.waits(for: 1)
    run.cancel()
    // The streams have ended in order although a request is still under way.
    for reader in readers {
      let text = String(
        decoding: await reader.receive { $0.suffix(5) == Array("0\r\n\r\n".utf8)[...] },
        as: UTF8.self)
      #expect(text.hasSuffix("0\r\n\r\n"))
    }
    http.responder.release()
    #expect(await slow.answer()?.status == 200)
    await run.value
    // Later, if another test has copied the socket into a process that it starts.
    while (try? http.connect()) != nil { await Task.yield() }
  }

  @Test(
    "A request without an answer does not keep the server from stopping: it gets 503, or its connection ends"
  )
  func stopWithoutAnswer() async throws {
    var limits = HTTPServerLimits.patient
    limits.maxStopTime = .milliseconds(100)
    let http = try TestHTTP(limits)
    let run = Task { await http.server.run() }
    let slow = try http.connect()
    await slow.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
    await http.responder.waits(for: 1)
    run.cancel()
    let answer = await slow.answer()
    #expect(answer == nil || answer?.status == 503)
    http.responder.release()
    await run.value
  }
}
