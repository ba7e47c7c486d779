import Foundation
import Tandem
import TestFolder
import TestHTTPServer
import TestTool
import Testing

@Suite("tandem mirror: when nobody reads what it prints", .timeLimit(.minutes(20)))
struct MirrorOutputTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// Mirrors with contents into a pipe that nobody reads; returns the exit status.
  private func mirror(_ url: String, _ options: [String]) async throws -> Int32 {
    let pipe = Pipe()
    try pipe.fileHandleForReading.close()
    // Another test may have copied it into a process that it starts, until that runs its own program.
    var status = pollfd(fd: pipe.fileHandleForWriting.fileDescriptor, events: 0, revents: 0)
    repeat { poll(&status, 1, 1) } while Int32(status.revents) & POLLERR == 0
    let tool = try TestProgram(
      [Tool.path, "mirror", url, folder.path(of: "list.db"), "--table", "item", "--key", "id"]
        + ["--content", "url", "--into", folder.path(of: "files"), "--retries", "0"] + options,
      output: .pipe(pipe), error: .file(folder.newFile("error")))
    return await tool.end()
  }

  private static let list = #"[{"id":1,"url":"/1"},{"id":2,"url":"/404"},{"id":3,"url":"/404"}]"#

  @Test(
    "failures are listed all the same, and are the exit status",
    arguments: [
      ["--json"], ["--json", "--continue-on-error"], ["--continue-on-error"],
      ["--json", "--continue-on-error", "--every", "0.01"],
    ])
  func failures(options: [String]) async throws {
    try await withServer { request, connection in
      switch request.path {
      case "/list": return connection.respond(200, [:], Array(Self.list.utf8))
      case "/1": return connection.respond(200, [:], [1])
      default: return connection.respond(404)
      }
    } test: { server async throws in
      #expect(try await mirror(server.url + "/list", options) == 1)
      let lines = try folder.text(of: "error").split(separator: "\n")
      let isContinuing = options.contains("--continue-on-error")
      let failures = lines.filter { $0.contains("content of ") && $0.contains("404") }
      #expect(isContinuing ? failures.count == 2 : failures.count >= 1, "\(lines)")
      #expect(!lines.contains { $0.contains("cannot write output") })
    }
  }

  @Test("a rehearsal that fails says why", arguments: [["-n"], ["-n", "--json"]])
  func rehearsal(options: [String]) async throws {
    try await withServer { _, connection in
      connection.respond(404)
    } test: { server async throws in
      #expect(try await mirror(server.url + "/list", options) == 1)
      #expect(try folder.text(of: "error").contains("404"))
    }
  }

  @Test(
    "without a failure, a reader that went away is no mistake",
    arguments: [["--json"], [], ["-n"], ["--json", "--every", "0.01"]])
  func success(options: [String]) async throws {
    try await withServer { request, connection in
      let list = #"[{"id":1,"url":"/1"}]"#
      return connection.respond(200, [:], request.path == "/list" ? Array(list.utf8) : [1])
    } test: { server async throws in
      #expect(try await mirror(server.url + "/list", options) == 128 + SIGPIPE)
      #expect(try folder.text(of: "error").isEmpty)
    }
  }

  @Test("on a terminal, a line says that the list is awaited, also without contents")
  func waiting() async throws {
    let terminal = try TestTerminal()
    let isShown = DispatchSemaphore(value: 0)
    try await withServer { _, connection in
      isShown.wait()
      isShown.signal()
      return connection.respond(200, [:], Array(Self.list.utf8))
    } test: { server async throws in
      let tool = try RunningTool(
        ["mirror", server.url, folder.path(of: "list.db"), "--table", "item", "--key", "id"],
        terminal: terminal)
      #expect(await terminal.shows("mirror waiting for the list"))
      isShown.signal()
      #expect(await tool.end() == 0)
    }
  }

  #if os(Linux)
    @Test("a disk that is full is said, with what holds all the same, and beside failures")
    func full() async throws {
      try await withServer { request, connection in
        switch request.path {
        case "/list": return connection.respond(200, [:], Array(Self.list.utf8))
        case "/good": return connection.respond(200, [:], Array(#"[{"id":1,"url":"/1"}]"#.utf8))
        case "/1": return connection.respond(200, [:], [1])
        default: return connection.respond(404)
        }
      } test: { server async throws in
        let command =
          "$tandem mirror \(server.url)/LIST LIST.db --table t --key id --content url --into LIST "
          + "--retries 0 --continue-on-error >/dev/full"
        let good = command.replacingOccurrences(of: "LIST", with: "good")
        let bad = command.replacingOccurrences(of: "LIST", with: "list")
        let first = try await Tool.shell(good, in: folder)
        #expect(first.status == 1)
        #expect(first.error.contains("cannot write output: "))
        #expect(first.error.hasSuffix("; the table equals the list nevertheless\n"))
        let second = try await Tool.shell(bad, in: folder)
        #expect(second.status == 1)
        #expect(second.error.contains("content of 2: ") && second.error.contains("content of 3: "))
        #expect(second.error.contains("cannot write output: "))
        #expect(!second.error.contains("nevertheless"))
      }
    }
  #endif
}
