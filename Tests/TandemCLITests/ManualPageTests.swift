import Foundation
import TestFolder
import TestTool
import Testing

@testable import TandemCLI

@Suite("tandem man", .timeLimit(.minutes(20)))
struct ManualPageTests {
  /// The pages as a terminal shows them, without bold and italics, by mandoc.
  private static let hasMandoc = FileManager.default.isExecutableFile(atPath: "/usr/bin/mandoc")

  @Test(
    "each page is valid, and shows the whole help of its command",
    .enabled(if: hasMandoc, "mandoc is not installed: scripts/bootstrap test"))
  func pages() async throws {
    let folder = try TemporaryFolder()
    let written = try await Tool.run(["man", "--into", folder.path])
    #expect(written.status == 0 && written.error.isEmpty && written.output.isEmpty)
    for command in TandemCLI.specifications {
      let page = "tandem-\(command.name).1"
      let shown = try await shown(page, in: folder)
      // A title has no full stop.
      let help = command.helpText.replacing(command.summary, with: command.summary.dropLast())
      let words = help.split { $0 == " " || $0 == "\n" }.dropFirst(3)
      let missing = words.filter { !shown.contains($0) }
      #expect(missing.allSatisfy { ["Exit", "status:", "options:", "examples:"].contains($0) })
      for example in command.examples { #expect(shown.contains("    \(example)\n")) }
    }
    let page = try await shown("tandem.1", in: folder)
    for command in TandemCLI.specifications {
      #expect(page.contains(command.summary) && page.contains("tandem-\(command.name)(1)"))
    }
  }

  /// A page as a wide terminal shows it.
  private func shown(_ page: String, in folder: TemporaryFolder) async throws -> String {
    // A date would change with each build.
    let faults = try await Tool.shell(
      "mandoc -T lint -W warning \(page) | grep -v 'missing date'", in: folder)
    #expect(faults.output.isEmpty)
    let shown = try await Tool.shell("mandoc -T utf8 -O width=200 \(page) | col -bx", in: folder)
    #expect(shown.status == 0 && shown.error.isEmpty)
    return shown.output
  }

  @Test("the page of a command is printed, with terms, code and the exit status in their places")
  func printed() async throws {
    let channel = try await Tool.run(["man", "channel"]).output
    #expect(channel.contains(".TP\n\\fBlisten\\fR\nPrints messages, one on each line."))
    let merge = try await Tool.run(["man", "merge"]).output
    #expect(merge.contains(".EX\ngit config merge.tandem.driver \\e\n"))
    #expect(merge.contains(".SH EXIT STATUS\n0 merged, 1 unresolved conflicts, 2 errors.\n"))
    let tandem = try await Tool.run(["man"]).output
    for job in TandemCLI.jobs {
      let first = job.commands[0].specification.name
      #expect(tandem.contains(".SS \(job.title)\n.TP\n\\fB\(first)\\fR\n"))
    }
    #expect(tandem.contains(".SH NAME\ntandem \\- Keeps copies of data in step"))
  }

  @Test("a mistake is an error that says what to write")
  func mistakes() async throws {
    for (arguments, words) in [
      (["man", "mirrow"], "unknown command 'mirrow'; did you mean 'mirror'?"),
      (["man", "diff", "merge"], "unexpected argument 'merge'"),
      (["man", "diff", "--into", "x"], "--into writes all pages: leave out 'diff'"),
    ] {
      let result = try await Tool.run(arguments)
      #expect(result.status == 2 && result.error.contains(words))
    }
    let missing = try await Tool.run(["man", "--into", "/missing"])
    #expect(missing.status == 1 && missing.error.contains("/missing"))
  }

  @Test("the manual has the version of the tool")
  func version() async throws {
    let version = try await Tool.run(["--version"]).output
    let man = try await Tool.run(["man"]).output
    let number = version.dropFirst("tandem ".count).dropLast()
    #expect(man.contains("\"Tandem \(number)\""))
  }
}
