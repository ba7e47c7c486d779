import Foundation
import Testing

@testable import TandemCLI

@Suite("The names of the library in messages")
struct LibraryNamesTests {
  @Test("the tool names its own option, and leaves everything else as it is")
  func spellings() {
    for (message, expected) in [
      ("name it, as in `itemsField` data", "name it, as in --items data"),
      (
        "with `paging` link, or with `paging` first", "with --page link, or with --page first"
      ),
      ("(`token`)", "(--token-file of tandem attach or serve, or the variable TANDEM_TOKEN)"),
      ("a `thing` and `itemsField`", "a `thing` and --items"),
      ("``itemsField`` is `", "`--items` is `"), ("no name", "no name"), ("`", "`"), ("", ""),
      ("the end `itemsField", "the end `itemsField"),
      (
        "use `itemsField`; the server says: \"the parameter `format` is missing\"",
        "use --items; the server says: \"the parameter `format` is missing\""
      ),
    ] {
      #expect(LibraryNames.replaced(in: message) == expected)
    }
  }

  @Test("no message of the library names an option of the tool, which spells each name")
  func messages() throws {
    var names: Set<String> = []
    for line in try Self.linesWithMessages() {
      // `tandem token` is the only way to make a token file.
      let namesOption = line.contains(/"[^"]*--[a-z]/) && !line.contains("tandem token ")
      #expect(!namesOption, "\(line)")
      for literal in line.matches(of: /"[^"]*"?/) {
        let found = literal.output.matches(of: /`([A-Za-z]+(?:\([A-Za-z_:]*\))?)`/)
        names.formUnion(found.map { String($0.output.1) })
      }
    }
    #expect(names.count > 15)
    for name in names {
      let spelling = try #require(LibraryNames.spelling(of: name), "\(name)")
      let options = TandemCLI.specifications.flatMap(\.allOptions).map { "--\($0.name)" }
      #expect(spelling.hasPrefix("tandem ") || options.contains { spelling.hasPrefix($0) })
    }
  }

  /// The lines with texts of the libraries' sources. The tool has options of its own.
  private static func linesWithMessages() throws -> [Substring] {
    let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let sources = package.appendingPathComponent("Sources").path
    let files = try FileManager.default.subpathsOfDirectory(atPath: sources).filter {
      $0.hasSuffix(".swift") && !$0.hasPrefix("TandemCLI/")
    }
    return try files.flatMap { file in
      try String(contentsOfFile: "\(sources)/\(file)", encoding: .utf8).split(separator: "\n")
        .filter { $0.contains("\"") && !$0.drop { $0 == " " }.hasPrefix("//") }
    }
  }
}
