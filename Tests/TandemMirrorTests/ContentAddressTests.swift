import Foundation
import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@Suite("Mirrors with contents: where they are asked for", .timeLimit(.minutes(20)))
struct ContentAddressTests {
  let scene: ContentScene

  init() throws { scene = try ContentScene() }

  @Test("what is relative is relative to where the list was found, and what is secret stays there")
  func redirectedList() async throws {
    for (base, token) in [("http://a.example", "1"), ("http://b.example", nil)]
      as [(String, String?)]
    {
      let scene = try ContentScene()
      scene.server.redirect("/latest", to: "\(base)/v2/list")
      scene.server["/v2/list"] = #"[{"id":1,"photo":"c/1.bin"}]"#
      scene.server["/v2/c/1.bin"] = "one"
      var options = RecordListOptions()
      options.fields["X-Token"] = "1"
      try await scene.run(url: "http://a.example/latest", list: options)
      let request = try #require(scene.server.requests.last)
      #expect(request.url == "\(base)/v2/c/1.bin")
      #expect(request.fields["X-Token"] == token)
    }
  }

  @Test("a content of the server that was asked gets its credentials, wherever the list was found")
  func redirectedCredentials() async throws {
    scene.server.redirect("/latest", to: "http://b.example/list")
    scene.server["/list"] = """
      [{"id":1,"photo":"1"},{"id":2,"photo":"http://a.example/2"}]
      """
    for id in 1...2 { scene.server["/\(id)"] = "\(id)" }
    try await scene.run(url: "http://me:hunter2@a.example/latest")
    #expect(
      scene.server.requests.dropFirst().map(\.url)
        == ["http://b.example/1", "http://me:hunter2@a.example/2"])
  }

  @Test("credentials in the list's address are sent to its server alone, and kept nowhere")
  func credentials() async throws {
    scene.server["/list"] = """
      [{"id":1,"photo":"1"},{"id":2,"photo":"http://a.example/2"},\
      {"id":3,"photo":"http://b.example/3"},{"id":4,"photo":"http://you:swordfish@a.example/4"}]
      """
    for id in 1...4 { scene.server["/\(id)"] = "\(id)" }
    let url = "http://me:hunter2@a.example/list"
    #expect(try await scene.run(url: url).isComplete)
    #expect(
      scene.server.requests.map(\.url) == [
        url, "http://me:hunter2@a.example/1", "http://me:hunter2@a.example/2",
        "http://b.example/3", "http://you:swordfish@a.example/4",
      ])
    for name in scene.folder.files() where !name.hasPrefix("list.db") {
      let text = String(decoding: scene.folder.bytes(of: name), as: UTF8.self)
      #expect(!text.contains("hunter2") && !text.contains("swordfish"), "\(name)")
    }
    #expect(try scene.rows("SELECT * FROM tandem_mirror").allSatisfy { !$0.contains("hunter2") })
    // All the same, the next run finds everything again.
    scene.server["/list"] = scene.server["/list"]?.replacing(#"{"id":1"#, with: #"{"n":1,"id":1"#)
    #expect(try await scene.run(url: url).byteCount == 0)
    _ = try await scene.run(url: url)
    let request = scene.server.requests.last { $0.url.hasSuffix("/list") }
    #expect(request?.fields["If-None-Match"] != nil)
    _ = try await scene.run(url: "http://a.example/list")
    let other = scene.server.requests.last { $0.url.hasSuffix("/list") }
    #expect(other?.fields["If-None-Match"] == nil, "whether there are credentials is remembered")
  }
}
