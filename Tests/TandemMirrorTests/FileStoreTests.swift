import Foundation
import TandemDifferences
import TandemDigests
import TandemRecords
import TestFolder
import TestHTTPServer
import Testing

@testable import TandemHTTP
@testable import TandemMirror
@testable import TandemSQLite

@Suite("File store", .timeLimit(.minutes(20)))
struct FileStoreTests {
  let client: SystemHTTPClient
  let folder: TemporaryFolder
  let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }

  init() throws {
    client = try SystemHTTPClient()
    folder = try TemporaryFolder()
  }

  @Test("content is put under its name, whole, and nothing is left aside")
  func whole() async throws {
    try await withServer { [content] _, connection in
      connection.respond(200, ["ETag": "\"1\""], content)
    } test: { server in
      let store = try FileStore(path: folder.path)
      let outcome = try await store.transfer(client, server.url)
      #expect(outcome.isChanged)
      #expect(outcome.receivedByteCount == content.count)
      #expect(outcome.file.validators.entityTag == "\"1\"")
      #expect(folder.bytes(of: "a") == content)
      #expect(try store.names() == [FileName("a")])
      #expect(folder.leftovers == [])
      #expect(store.file(FileName("a")) == outcome.file)
      #expect(store.index.names(in: "") == [FileName("a")])
    }
  }

  @Test("an interrupted transfer leaves no file, and goes on where it was")
  func resumption() async throws {
    let cut = 200_000
    try await withServer { [content] request, connection in
      guard let range = request.fields["Range"] else {
        connection.send(
          200, ["ETag": "\"1\"", "Content-Length": "\(content.count)"], Array(content[..<cut]))
        return false
      }
      guard request.fields["If-Range"] == "\"1\"",
        let start = Int(range.dropFirst(6).dropLast())
      else { return false }
      return connection.respond(
        206,
        [
          "ETag": "\"1\"", "Content-Range": "bytes \(start)-\(content.count - 1)/\(content.count)",
        ],
        Array(content[start...]))
    } test: { server in
      do {
        let store = try FileStore(path: folder.path)
        let error = await #expect(throws: TransportError.self) {
          try await store.transfer(client, server.url)
        }
        #expect(error?.isTransient == true)
        #expect(try store.names().isEmpty)
      }
      // Another process.
      let store = try FileStore(path: folder.path)
      let outcome = try await store.transfer(client, server.url) { [content] in
        $0.sha256 = SHA256Digest(of: content)
      }
      #expect(folder.bytes(of: "a") == content)
      #expect(outcome.receivedByteCount == content.count - cut)
      #expect(server.requests.last?.fields["Range"] == "bytes=\(cut)-")
    }
  }

  enum Answer: CaseIterable {
    case wholeOfNewVersion, unsatisfiable, wrongStart, wrongTotal, wrongTag, noTag, noRange, encoded
    case shorterOfUnknown
  }

  @Test("a server that cannot go on is asked for all", arguments: Answer.allCases)
  func restart(answer: Answer) async throws {
    let new = Array(content.reversed())
    let total = content.count
    try await withServer { [content] request, connection in
      guard let range = request.fields["Range"] else {
        let isFirst = request.path == "/first"
        guard isFirst else { return connection.respond(200, ["ETag": "\"2\""], new) }
        if answer == .shorterOfUnknown {
          // A chunk that is whole, and no end.
          connection.send(
            200, ["ETag": "\"1\"", "Transfer-Encoding": "chunked"],
            Array("186A0\r\n".utf8) + content[..<100_000] + Array("\r\n".utf8))
        } else {
          connection.send(
            200, ["ETag": "\"1\"", "Content-Length": "\(total)"], Array(content[..<100_000]))
        }
        return false
      }
      let start = Int(range.dropFirst(6).dropLast()) ?? 0
      let rest = Array(content[start...])
      let usual = "bytes \(start)-\(total - 1)/\(total)"
      switch answer {
      case .wholeOfNewVersion: return connection.respond(200, ["ETag": "\"2\""], new)
      case .unsatisfiable: return connection.respond(416, ["Content-Range": "bytes */5"])
      case .wrongStart:
        return connection.respond(
          206, ["ETag": "\"1\"", "Content-Range": "bytes 0-\(total - 1)/\(total)"], rest)
      case .wrongTotal:
        return connection.respond(
          206, ["ETag": "\"1\"", "Content-Range": "bytes \(start)-\(total - 1)/\(total + 1)"], rest)
      case .wrongTag:
        return connection.respond(206, ["ETag": "\"3\"", "Content-Range": usual], rest)
      case .noTag:
        return connection.respond(206, ["Content-Range": usual], Array(new[start...]))
      case .noRange: return connection.respond(206, ["ETag": "\"1\""], rest)
      case .shorterOfUnknown:
        return connection.respond(
          206, ["ETag": "\"1\"", "Content-Range": "bytes \(start)-\(start + 49_999)/*"],
          Array(rest[..<50_000]))
      case .encoded:
        return connection.respond(
          206, ["ETag": "\"1\"", "Content-Encoding": "br", "Content-Range": usual], rest)
      }
    } test: { server in
      let store = try FileStore(path: folder.path)
      let name = FileName("a")
      _ = try? await store.transfer(client, server.url + "/first")
      // The same content, at an address that answers in another way without a range.
      let address = FileIndex.Address(folder: "", name: name)
      var resumption = try #require(store.index.partial(address))
      resumption.url = server.url + "/other"
      try store.index.setPartial(resumption, at: address)
      let partial = PartialFile(address, in: store.hidden, index: store.index)
      #expect(partial.resumption(of: server.url + "/other")?.byteCount == 100_000)
      let outcome = try await store.transfer(client, server.url + "/other")
      #expect(outcome.receivedByteCount == total)
      #expect(folder.bytes(of: "a") == new)
      #expect(folder.leftovers == [])
    }
  }

  @Test(
    "what arrived without a strong validator, or of something short, is not gone on with",
    arguments: [
      (["ETag": "W/\"1\""], 300_000), ([:], 300_000), (["ETag": "\"1\""], 60_000),
      (["ETag": "\"1\"", "Accept-Ranges": "none"], 300_000),
      (
        [
          "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:37 GMT",
        ], 300_000
      ),
    ] as [(HTTPFields, Int)])
  func weakness(fields: HTTPFields, total: Int) async throws {
    try await withServer { [content] _, connection in
      var fields = fields
      fields["Content-Length"] = "\(total)"
      connection.send(200, fields, Array(content[..<(total / 2)]))
      return false
    } test: { server in
      let store = try FileStore(path: folder.path)
      for _ in 0..<2 {
        await #expect(throws: TransportError.self) { try await store.transfer(client, server.url) }
      }
      #expect(server.requests.allSatisfy { $0.fields["Range"] == nil })
      #expect(folder.leftovers == [])
      #expect(try store.names().isEmpty)
    }
  }

  @Test("content of another length or digest than declared is refused and not kept")
  func mismatch() async throws {
    try await withServer { [content] _, connection in
      connection.respond(200, ["ETag": "\"1\""], content)
    } test: { server in
      let store = try FileStore(path: folder.path)
      let changes: [(inout FileRequest) -> Void] = [
        { $0.sha256 = SHA256Digest(of: [1]) }, { $0.byteCount = 299_999 },
        { $0.byteCount = 300_001 },
      ]
      for change in changes {
        let error = await #expect(throws: TransportError.self) {
          try await store.transfer(client, server.url, change)
        }
        #expect(error?.code == .contentMismatch)
        #expect(error?.isTransient == true)
      }
      let error = await #expect(throws: TransportError.self) {
        try await store.transfer(client, server.url) { $0.maxByteCount = 299_999 }
      }
      #expect(error?.code == .tooLarge)
      #expect(folder.leftovers == [])
      let digest = SHA256Digest(of: content)
      _ = try await store.transfer(client, server.url) {
        $0.sha256 = digest
        $0.byteCount = 300_000
        $0.maxByteCount = 300_000
      }
      #expect(try store.names() == [FileName("a")])
    }
  }

  @Test("a file that is known is asked for only if it changed")
  func conditional() async throws {
    try await withServer { [content] request, connection in
      request.fields["If-None-Match"] == "\"1\""
        ? connection.respond(304, ["ETag": "\"1\""])
        : connection.respond(200, ["ETag": "\"1\""], content)
    } test: { server in
      let store = try FileStore(path: folder.path)
      let first = try await store.transfer(client, server.url)
      let second = try await store.transfer(client, server.url)
      #expect(!second.isChanged)
      #expect(second.receivedByteCount == 0)
      #expect(second.file == first.file)
      // A file that somebody cut is fetched again.
      folder.create("a", [1])
      let third = try await store.transfer(client, server.url)
      #expect(third.isChanged)
      #expect(folder.bytes(of: "a") == content)
    }
  }

  @Test("a server that is busy says how long to wait", arguments: [429, 503])
  func busy(status: Int) async throws {
    try await withServer { _, connection in
      connection.respond(status, ["Retry-After": "7"])
    } test: { server in
      let store = try FileStore(path: folder.path)
      let error = await #expect(throws: TransportError.self) {
        try await store.transfer(client, server.url)
      }
      #expect(error?.status == status)
      #expect(error?.isTransient == true)
      #expect(error?.retryDelay == .seconds(7))
    }
  }

  @Test("content that a proxy has changed on its way is content, as it is of lists")
  func transformed() async throws {
    try await withServer { [content] _, connection in
      connection.respond(203, [:], content)
    } test: { server in
      let store = try FileStore(path: folder.path)
      #expect(try await store.transfer(client, server.url).isChanged)
      #expect(folder.bytes(of: "a") == content)
    }
  }

  @Test("a success without the content is no content", arguments: [201, 202, 204, 207])
  func otherSuccess(status: Int) async throws {
    try await withServer { _, connection in
      connection.respond(status, [:], status == 204 ? [] : Array("wait".utf8))
    } test: { server in
      let store = try FileStore(path: folder.path)
      let error = await #expect(throws: TransportError.self) {
        try await store.transfer(client, server.url)
      }
      #expect(error?.code == .badStatus && error?.status == status)
      #expect(error?.isTransient == (status == 202))
      #expect(try store.names().isEmpty)
    }
  }

  @Test("what is kept aside has no credentials in it, is nobody else's to read, and is found again")
  func credentials() async throws {
    let cut = 200_000
    try await withServer { [content] request, connection in
      if request.fields["If-None-Match"] != nil {
        return connection.respond(304, ["ETag": "\"1\""])
      }
      let start = request.fields["Range"].flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
      guard start > 0 else {
        connection.send(
          200, ["ETag": "\"1\"", "Content-Length": "\(content.count)"], Array(content[..<cut]))
        return false
      }
      let range = "bytes \(start)-\(content.count - 1)/\(content.count)"
      return connection.respond(
        206, ["ETag": "\"1\"", "Content-Range": range], Array(content[start...]))
    } test: { server in
      let url = server.url.replacing("http://", with: "http://me:hunter2@")
      for step in 0..<3 {
        let store = try FileStore(path: folder.path)
        let outcome = try? await store.transfer(client, url)
        #expect(outcome?.receivedByteCount == [nil, content.count - cut, 0][step])
        try store.setDirty([FileName("b")])
        for name in folder.names(in: ".tandem") {
          let text = String(
            decoding: folder.bytes(of: ".tandem/\(name)").prefix(4_096), as: UTF8.self)
          #expect(!text.contains("hunter2"), "\(name)")
          guard !name.hasSuffix(".part") else { continue }
          let attributes = try FileManager.default.attributesOfItem(
            atPath: "\(folder.path)/.tandem/\(name)")
          #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600, "\(name)")
        }
      }
      #expect(server.requests.allSatisfy { $0.fields["Authorization"] != nil })
    }
  }

  @Test("answers to questions that were not asked are errors", arguments: [206, 304, 416])
  func unasked(status: Int) async throws {
    try await withServer { _, connection in
      connection.respond(status, ["Content-Range": "bytes 0-0/1"], status == 304 ? [] : [1])
    } test: { server in
      let store = try FileStore(path: folder.path)
      await #expect(throws: TransportError.self) { try await store.transfer(client, server.url) }
      #expect(try store.names().isEmpty)
    }
  }

  @Test(
    "what no longer has the digest that is wanted is not taken for it, whatever the server says")
  func unaskedNotModified() async throws {
    try await withServer { [content, folder] _, connection in
      !folder.bytes(of: "a").isEmpty
        ? connection.respond(304, ["ETag": "\"1\""])
        : connection.respond(200, ["ETag": "\"1\""], content)
    } test: { server in
      let store = try FileStore(path: folder.path)
      _ = try await store.transfer(client, server.url + "/a")
      let digest = try #require(SHA256Digest(hexadecimal: String(repeating: "0", count: 64)))
      let request = FileRequest(FileName("a"), url: server.url + "/a", sha256: digest)
      let error = await #expect(throws: TransportError.self) {
        try await store.transfer(request, client: client)
      }
      #expect(error?.code == .malformedResponse)
    }
  }

  @Test("symbolic links in the way are replaced, and what they lead to is left alone")
  func links() async throws {
    let outside = try TemporaryFolder()
    outside.create("secret", [7])
    try await withServer { [content] _, connection in
      connection.respond(200, ["ETag": "\"1\""], content)
    } test: { server in
      let store = try FileStore(path: folder.path)
      let target = "\(outside.path)/secret"
      try FileManager.default.createSymbolicLink(
        atPath: "\(folder.path)/a", withDestinationPath: target)
      _ = try await store.transfer(client, server.url + "/old")
      #expect(folder.bytes(of: "a") == content)
      try FileManager.default.createSymbolicLink(
        atPath: "\(folder.path)/.tandem/a.part", withDestinationPath: target)
      await #expect(throws: TransportError.self) { try await store.transfer(client, server.url) }
      #expect(outside.bytes(of: "secret") == [7])
    }
    let linked = try TemporaryFolder()
    try FileManager.default.createSymbolicLink(
      atPath: "\(linked.path)/.tandem", withDestinationPath: outside.path)
    #expect(throws: TransportError.self) { try FileStore(path: linked.path) }
    #expect(outside.names() == ["secret"])
  }

  @Test("a download that cannot be resumed leaves nothing, and the file stays until it is whole")
  func notResumable() async throws {
    let (head, go) = (Signal(), Signal())
    try await withServer { [content] request, connection in
      guard request.path == "/slow" else { return connection.respond(200, [:], content) }
      connection.send(200, ["Content-Length": "4"], [1, 2])
      head.fire()
      go.waitBlockingThread()
      return connection.send([3, 4])
    } test: { server in
      let store = try FileStore(path: folder.path)
      _ = try await store.transfer(client, server.url)
      let slow = Task { try await store.transfer(client, server.url + "/slow") }
      await head.wait()
      #expect(folder.bytes(of: "a") == content)
      go.fire()
      #expect(try await slow.value.isChanged)
      #expect(folder.bytes(of: "a") == [1, 2, 3, 4])
      #expect(folder.names().sorted() == [".tandem", "a"])
      #expect(folder.leftovers == [])
    }
  }

  @Test("a directory belongs to one store at a time")
  func lock() throws {
    do {
      let store = try FileStore(path: folder.path)
      let error = #expect(throws: TransportError.self) { try FileStore(path: folder.path) }
      #expect(error?.code == .cannotWrite)
      #expect(store.path == folder.path)
    }
    _ = try FileStore(path: folder.path)
  }

  #if os(Linux)
    @Test("a directory is free when its store is gone, though a process that starts has its files")
    func startingProcess() throws {
      var copies: [CInt] = []
      do {
        let store = try FileStore(path: folder.path)
        // As another thread copies all descriptors for a process, until that runs its own program.
        for number in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
          let link = "/proc/self/fd/\(number)"
          let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link)
          if path?.hasSuffix("\(folder.path)/.tandem/lock") == true, let number = CInt(number) {
            copies.append(dup(number))
          }
        }
        #expect(store.path == folder.path)
      }
      #expect(!copies.isEmpty)
      _ = try FileStore(path: folder.path)
      for copy in copies { close(copy) }
    }
  #endif

  @Test("a sweep removes the files and parts that are not kept, and no stranger's")
  func sweep() async throws {
    try await withServer { [content] _, connection in
      connection.respond(200, [:], content)
    } test: { server in
      let store = try FileStore(path: folder.path)
      for name in ["a", "b", "c"] {
        _ = try await store.transfer(
          FileRequest(FileName(name), url: server.url), client: client)
      }
      for path in [".tandem/a.part", ".tandem/x.part", "Notes.txt"] {
        folder.create(path, [1])
      }
      try store.discardPartialFiles(keeping: [FileName("a")])
      #expect(try store.sweep(keeping: [FileName("a")]) == [FileName("b"), FileName("c")])
      #expect(folder.names().sorted() == [".tandem", "Notes.txt", "a"])
      #expect(folder.leftovers == ["a.part"])
      #expect(store.index.names(in: "") == [FileName("a")])
      try store.discardPartialFiles()
      #expect(folder.leftovers == [])
    }
  }

  @Test("a content that unfolds beyond its limit is refused before that, and not kept")
  func bomb() async throws {
    try await withServer { _, connection in
      connection.respond(200, ["Content-Encoding": "gzip"], gzipBomb(runCount: 1_000_000))
    } test: { server in
      let store = try FileStore(path: folder.path)
      let error = await #expect(throws: TransportError.self) {
        try await store.transfer(client, server.url) {
          $0.maxByteCount = 1 << 20
          $0.sha256 = SHA256Digest(of: [])
        }
      }
      #expect(error?.code == .tooLarge)
      #expect(folder.leftovers == [])
      #expect(server.requests.first?.fields["Accept-Encoding"] == "identity")
    }
  }

  @Test("a file with the digest that is wanted is not asked for; one with another digest is")
  func knownDigest() async throws {
    try await withServer { [content] request, connection in
      connection.respond(200, ["ETag": "\"1\""], request.path == "/old" ? [1, 2] : content)
    } test: { server in
      let store = try FileStore(path: folder.path)
      let digest = SHA256Digest(of: content)
      let first = try await store.transfer(client, server.url) { $0.sha256 = digest }
      let second = try await store.transfer(client, server.url) { $0.sha256 = digest }
      #expect(second == FileTransfer(file: first.file, receivedByteCount: 0, isChanged: false))
      #expect(server.requests.count == 1)
      _ = try? await store.transfer(client, server.url) { $0.sha256 = SHA256Digest(of: [1]) }
      #expect(server.requests.last?.fields["If-None-Match"] == nil)
      #expect(folder.bytes(of: "a") == content)
      let other = try await store.transfer(client, server.url + "/old")
      #expect(other.isChanged)
      #expect(folder.bytes(of: "a") == [1, 2])
    }
  }
}

extension TemporaryFolder {
  /// The names in the hidden directory of a store, without its index and its lock.
  var leftovers: [String] {
    names(in: ".tandem").filter { !$0.hasPrefix(FileIndex.name) && $0 != "lock" }.sorted()
  }
}
