import TandemHTTP
import TandemMirror
import TandemRecords
import TestFolder
import TestHTTPServer
import Testing

@Suite("Lists inside an object, without the option that names it", .timeLimit(.minutes(20)))
struct InnerListTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private static var options: RecordListOptions {
    var options = RecordListOptions()
    options.retry = .never
    options.key = ["id"]
    return options
  }

  static let texts = [
    (#"{"data":[{"id":1}],"total":1}"#, "`itemsField` data"),
    (#"{"total":1,"data":{"rows":[{"id":1}]}}"#, "`itemsField` data.rows"),
    ("{\n  \"data\": [\n    {\"id\": 1}\n  ]\n}\n", "`itemsField` data"),
    (#"{"a":[{"id":1}],"b":[{"id":2}]}"#, "`itemsField` a or `itemsField` b"),
    (#"{"tags":["x"],"é":[{"id":1}]}"#, "`itemsField` é"),
  ]

  @Test(
    "the error names the option, for a file with and without a name that shows its format",
    arguments: texts)
  func files(text: String, option: String) async throws {
    for name in ["list.json", "list"] {
      try folder.write(text, to: name)
      let error = await #expect(throws: RecordError.self) {
        _ = try await RecordSource.file(folder.path(of: name)).list(Self.options)
      }
      #expect(error?.message.contains(option) == true, "\(name): \(error?.message ?? "")")
    }
  }

  @Test("the error names the option, for a URL with and without a content type", arguments: texts)
  func urls(text: String, option: String) async throws {
    for fields in [["Content-Type": "application/json"], [:]] as [HTTPFields] {
      try await withServer { _, connection in
        connection.respond(200, fields, Array(text.utf8))
      } test: { server in
        do {
          _ = try await RecordSource.url(server.url + "/list").list(
            Self.options, client: SystemHTTPClient())
          Issue.record("it is read")
        } catch {
          #expect("\(error)".contains(option))
        }
      }
    }
  }

  @Test("an array around the list is named by the position")
  func array() async throws {
    try folder.write(#"[{"total":1},[{"id":1}]]"#, to: "list.json")
    let error = await #expect(throws: RecordError.self) {
      _ = try await RecordSource.file(folder.path(of: "list.json")).list(Self.options)
    }
    #expect(error?.message.contains("`itemsField` 1") == true)
  }

  @Test(
    "records that have lists in them stay records",
    arguments: [
      #"{"id":1,"tags":[{"a":1}]}"#, #"{"tags":[{"a":1}],"id":1}"#,
      "{\"tags\":[{}],\"id\":1}\n{\"id\":2}\n",
    ])
  func records(text: String) async throws {
    try folder.write(text, to: "list")
    let list = try await RecordSource.file(folder.path(of: "list")).list(Self.options)
    #expect(try list.content().records.first?["id"] == 1)
  }
}
