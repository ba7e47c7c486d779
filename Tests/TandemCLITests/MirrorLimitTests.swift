import Foundation
import Synchronization
import Tandem
import TestFolder
import TestHTTPServer
import TestTool
import Testing

@testable import TandemCLI

@Suite("tandem mirror: limits", .timeLimit(.minutes(20)))
struct MirrorLimitTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private static func list(_ count: Int) -> [UInt8] {
    let items = (1...count).map { #"{"id":\#($0),"url":"/\#($0)"}"# }
    return Array("[\(items.joined(separator: ","))]".utf8)
  }

  private func command(_ url: String, _ options: String) -> String {
    "$tandem mirror \(url)/list list.db --table t --key id --content url --into files -q \(options)"
  }

  @Test(
    "fewer contents are fetched at a time than were asked for, where few files may be open",
    arguments: [40, 100])
  func descriptors(limit: Int) async throws {
    let count = 300
    try await withServer { request, connection in
      let body = request.path == "/list" ? Self.list(count) : Array(request.path.utf8)
      return connection.respond(200, [:], body)
    } test: { server in
      let result = try await Tool.shell(
        "ulimit -n \(limit); " + command(server.url, "--concurrency 1024 --retries 0"), in: folder)
      #expect(result.status == 0 && result.error.isEmpty, "\(result)")
      let rows = try folder.rows("list.db", "SELECT count(*) FROM t WHERE url_file IS NOT NULL")
      #expect(rows == ["\(count)"])
    }
  }

  @Test("as many are fetched at a time as were asked for, where the system allows more open files")
  func raisedDescriptors() async throws {
    let count = 60
    let waiting = Mutex(0)
    let all = Signal()
    try await withServer { request, connection in
      guard request.path != "/list" else { return connection.respond(200, [:], Self.list(count)) }
      let number = waiting.withLock { waiting in
        waiting += 1
        return waiting
      }
      // The first is answered when the last has been asked for.
      if number == count { all.fire() }
      all.waitBlockingThread()
      return connection.respond(200, [:], [1])
    } test: { server in
      defer { all.fire() }
      let result = try await Tool.shell(
        "ulimit -Sn 64; " + command(server.url, "--concurrency \(count) --retries 0"), in: folder)
      #expect(result.status == 0 && result.error.isEmpty, "\(result)")
    }
  }

  @Test("--max-bytes is the longest list and the longest content, and refusals name it")
  func maxBytes() async throws {
    let counts = [1: 10, 2: 1_024, 3: 1_025]
    let list = Self.list(3)
    try await withServer { request, connection in
      guard let id = Int(request.path.dropFirst()) else {
        return connection.respond(200, ["ETag": "\"1\""], list)
      }
      return connection.respond(200, [:], [UInt8](repeating: 1, count: counts[id] ?? 0))
    } test: { server in
      let tooLong = "longer than the limit of \(list.count - 1) bytes"
      let option = "--max-bytes \(list.count - 1)"
      try folder.write(String(decoding: list, as: UTF8.self), to: "list.json")
      for line in [
        command(server.url, option), command(server.url, option + " -n"),
        "$tandem mirror \(server.url)/list list.db --table t --key id \(option)",
        "$tandem mirror list.json list.db --table t --key id \(option)",
        "$tandem mirror - list.db --table t --key id \(option) <list.json",
      ] {
        let result = try await Tool.shell(line, in: folder)
        #expect(result.status == 1 && result.output.isEmpty)
        #expect(result.error.contains(tooLong), "\(result.error)")
        #expect(result.error.contains("--max-bytes"), "\(result.error)")
      }
      let some = try await Tool.shell(
        command(server.url, "--max-bytes 1k --continue-on-error --retries 0"), in: folder)
      #expect(some.status == 1)
      #expect(some.error.contains("content of 3: ") && !some.error.contains("content of 2: "))
      #expect(some.error.contains("limit of 1024 bytes") && some.error.contains("--max-bytes"))
      let all = try await Tool.shell(command(server.url, "--max-bytes 1M"), in: folder)
      #expect(all.status == 0 && all.error.isEmpty)
    }
  }

  @Test("a content that nothing shows to be whole is refused, with the options that would help")
  func uncertainContent() async throws {
    let list = Array(#"[{"id":1,"url":"/1","thumb":"/1","size":3}]"#.utf8)
    try await withServer { request, connection in
      guard request.path != "/list" else { return connection.respond(200, [:], list) }
      connection.send(200, [:], [1, 2, 3])
      return false
    } test: { server in
      let refused = try await Tool.shell(command(server.url, ""), in: folder)
      #expect(refused.status == 1)
      #expect(refused.error.contains("that this content is complete"), "\(refused.error)")
      #expect(refused.error.contains("--length") && refused.error.contains("--sha256"))
      let checked = try await Tool.shell(command(server.url, "--length size"), in: folder)
      #expect(checked.status == 0 && checked.error.isEmpty)
      let preview = try await Tool.shell(
        "$tandem mirror \(server.url)/list p.db --table t --key id --preview thumb --into p -q",
        in: folder)
      #expect(preview.status == 1 && preview.error.contains("that this content is complete"))
      #expect(!preview.error.contains("--length"))
    }
  }

  @Test(
    "mistakes are exit status 2, and say what is meant",
    arguments: [
      (["--preview", "p", "--into", "d", "--sha256", "s"], "--sha256 needs --content"),
      (["--preview", "p", "--into", "d", "--length", "n"], "--length needs --content"),
      (["--items", "a", "--format", "csv"], "--items is for JSON, not for csv"),
      (["--max-bytes", ""], "--max-bytes takes"), (["--max-bytes", "0"], "--max-bytes takes"),
      (["--max-bytes", "-1"], "--max-bytes takes"), (["--max-bytes", "1kB"], "not '1kB'"),
      (["--max-bytes", "1T"], "--max-bytes takes"), (["--max-bytes", "k"], "--max-bytes takes"),
      (["--max-bytes", "9999999999G"], "--max-bytes takes bytes, such as 500k, 64M or 2G"),
    ])
  func usage(options: [String], words: String) async throws {
    let result = try await Tool.run(
      ["mirror", "list.json", "a.db", "--table", "t", "--key", "id"] + options)
    #expect(result.status == 2)
    #expect(result.error.contains(words), "\(result.error)")
  }

  @Test("help names the limits")
  func help() async throws {
    let result = try await Tool.run(["help", "mirror"])
    for words in ["--max-bytes N[k|M|G]", "2 GiB", "256 MiB", "16 GiB"] {
      #expect(result.output.contains(words), "\(words)")
    }
  }
}
