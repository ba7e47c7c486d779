import Tandem
import TestFolder
import TestHTTPServer
import TestTool
import Testing

@Suite("tandem mirror: CSV as programs write it", .timeLimit(.minutes(20)))
struct MirrorCSVTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  func mirror(
    _ source: String, _ options: [String] = [], key: String = "id", input: String = ""
  ) async throws -> Tool.Result {
    try await Tool.run(
      ["mirror", source, folder.path(of: "list.db"), "--table", "t", "--key", key] + options,
      input: input)
  }

  func rows() throws -> [String] { try folder.rows("list.db", "SELECT * FROM t") }

  @Test(
    "lists of other dialects are read as they are meant",
    arguments: [
      ("id,name\r1,a\r2,b\r", []), ("1,a\n2,b\n", ["--no-header"]),
      ("Export of today\n\nid;name\n1;a\n2;b\n", ["--skip-lines", "2", "--delimiter", ";"]),
      ("\"id\",\"name\"\n\"1\",\"a\"\n\"2\",\"b\"\n", []),
    ])
  func dialects(list: String, options: [String]) async throws {
    let key = options.contains("--no-header") ? "column_1" : "id"
    let file = try folder.write(list, to: "list.csv")
    let result = try await mirror(file, options, key: key)
    #expect(result.status == 0, "\(result)")
    #expect(try rows() == [#"1|"a""#, #"2|"b""#])
    let other = try folder.write(list, to: "other.csv")
    let difference = try await Tool.run(["diff", file, other, "--key", key] + options)
    #expect(difference.status == 0, "\(difference)")
  }

  @Test("stray quotes are refused with the option that reads them")
  func strayQuotes() async throws {
    let list = "id,name\n1,5\" x\n2,\"the \"b\"\"\n"
    let refusal = try await mirror("-", ["--format", "csv"], input: list)
    #expect(refusal.status == 1 && refusal.error.contains("--quotes lenient"), "\(refusal)")
    let result = try await mirror("-", ["--format", "csv", "--quotes", "lenient"], input: list)
    #expect(result.status == 0, "\(result)")
    #expect(try rows() == [#"1|"5\" x""#, #"2|"the \"b\"""#])
    let tabs = try await mirror(
      "-", ["--format", "tsv", "--quotes", "none"], input: "id\tname\n1\t\"x\n2\t\"b\"\n")
    #expect(tabs.status == 0, "\(tabs)")
    #expect(try rows() == [#"1|"\"x""#, #"2|"\"b\"""#])
  }

  @Test("the charset that a server declares is the encoding, unless it contradicts the text")
  func charsets() async throws {
    let windows = Array("id,name\n1,".utf8) + [0xE9, 0x80] + Array("\n".utf8)
    func result(_ type: String, _ bytes: [UInt8], _ options: [String] = []) async throws
      -> Tool.Result
    {
      try await withServer { _, connection in
        connection.respond(200, ["Content-Type": type], bytes)
      } test: { server in
        try await mirror(server.url + "/list", options)
      }
    }
    for charset in ["windows-1252", "ISO-8859-1"] {
      let read = try await result("text/csv; charset=\(charset)", windows)
      #expect(read.status == 0, "\(read)")
      #expect(try rows() == [#"1|"é€""#])
    }
    let utf8 = Array("id,name\n1,é€\n".utf8)
    let wrong = try await result("text/csv; charset=iso-8859-1", utf8)
    #expect(wrong.status == 1 && wrong.error.contains("--encoding utf-8"), "\(wrong)")
    let named = try await result("text/csv; charset=iso-8859-1", utf8, ["--encoding", "utf-8"])
    #expect(named.status == 0 && named.output.hasPrefix("0 inserted, 0 updated"), "\(named)")
    let unknown = try await result("text/csv; charset=shift_jis", utf8)
    #expect(unknown.status == 1 && unknown.error.contains("shift_jis"), "\(unknown)")
    // ASCII is the same in all of them.
    let ascii = try await result("text/csv; charset=shift_jis", Array("id,name\n1,e\n".utf8))
    #expect(ascii.status == 0, "\(ascii)")
  }

  @Test("a list without records says that it creates no table")
  func headerOnly() async throws {
    let list = try folder.write("id,name\n", to: "list.csv")
    let result = try await mirror(list)
    #expect(
      result.output
        == "0 inserted, 0 updated, 0 deleted; the list has no records, so table t was not created\n"
    )
    let plan = try await mirror(list, ["--dry-run"])
    #expect(plan.output.contains("table t would not be created"), "\(plan)")
    let field = try await mirror(list, key: "code")
    #expect(
      field.status == 1
        && field.error.contains("the header has no field \"code\"; its fields are id, name"),
      "\(field)")
  }
}
