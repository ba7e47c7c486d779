import TestFolder
import Testing

@testable import TandemCLI

@Suite("tandem: what is typed", .timeLimit(.minutes(5)))
struct UsageTests {
  static let mirror = ["mirror", "list.json", "a.db", "--table", "t", "--key", "id"]

  @Test(
    "help and the version are asked for, and go to standard output",
    arguments: [
      (["--help"], "usage: tandem COMMAND"), (["-h"], "usage: tandem COMMAND"),
      (["help"], "usage: tandem COMMAND"), (["help", "help"], "usage: tandem COMMAND"),
      (["help", "diff"], "usage: tandem diff OLD NEW"),
      (["help", "mirror"], "usage: tandem mirror SOURCE DATABASE"),
      (["diff", "--help"], "usage: tandem diff OLD NEW"),
      (["mirror", "x", "-h"], "--max-deletes N|P%"),
      (["--version"], "tandem 0."),
    ])
  func help(arguments: [String], words: String) async throws {
    let result = try await Tool.run(arguments)
    #expect(result.status == 0 && result.error.isEmpty)
    #expect(result.output.contains(words))
    #expect(result.output.split(separator: "\n").allSatisfy { $0.count <= 100 })
  }

  @Test(
    "mistakes are exit status 2, and a hint at what was meant",
    arguments: [
      ([], ["a command is missing", "See 'tandem --help'"]),
      (["mirrow"], ["unknown command 'mirrow'; did you mean 'mirror'?"]),
      (["dif"], ["did you mean 'diff'?"]), (["--hlep"], ["did you mean '--help'?"]),
      (["--verison"], ["did you mean '--version'?"]),
      (["frobnicate"], ["unknown command 'frobnicate'\n"]),
      (["help", "dfif"], ["did you mean 'diff'?"]),
      (["diff", "a"], ["missing NEW", "usage: tandem diff OLD NEW", "See 'tandem help diff'"]),
      (["diff"], ["missing OLD"]), (["diff", "a", "b", "c"], ["unexpected argument 'c'"]),
      (["diff", "a", "b", "--kye", "id"], ["unknown option --kye; did you mean --key?"]),
      (["diff", "a", "b", "--zzzzzz"], ["unknown option --zzzzzz\n"]),
      (["diff", "a", "b", "-z"], ["unknown option -z"]),
      (["diff", "a", "b", "--key"], ["option --key needs a value: --key FIELD[,FIELD]"]),
      (["diff", "a", "b", "--key", "--json"], ["option --key needs a value"]),
      (["diff", "a", "b", "--key", "--table=x"], ["option --key needs a value"]),
      (["diff", "a", "b", "--key", "x", "--key=y"], ["option --key is given twice"]),
      (["diff", "a", "b", "--json=1"], ["option --json takes no value"]),
      (
        ["diff", "a", "b", "--key", "x,"],
        ["--key names fields with commas between them, each once"]
      ),
      (["diff", "a", "b", "--key", "x,x"], ["each once"]),
      (["diff", "a", "b", "--key", ""], ["--key names"]),
      (["diff", "a", "b", "--format", "cvs"], ["not 'cvs'; did you mean csv?"]),
      (["mirror", "a", "b", "--key", "id"], ["--table is missing"]),
      (["mirror", "a", "b", "--table", "", "--key", "id"], ["--table is missing"]),
      (
        ["mirror", "a", "b", "--table", "t"],
        ["--key is missing", "usage: tandem mirror SOURCE DATABASE"]
      ),
      (["mirror", "a", "--table", "t", "--key", "id"], ["missing DATABASE"]),
      (mirror + ["--dry-rum"], ["did you mean --dry-run?"]),
      (mirror + ["--alow-empty"], ["--allow-empty?"]),
      (mirror + ["--max-delete=1"], ["did you mean --max-deletes?"]),
    ])
  func mistakes(arguments: [String], words: [String]) async throws {
    let result = try await Tool.run(arguments)
    #expect(result.status == 2)
    #expect(result.output.isEmpty)
    for word in words { #expect(result.error.contains(word)) }
  }

  @Test("after -- everything is an operand, and --name=VALUE is any value")
  func separators() async throws {
    let folder = try TemporaryFolder()
    try folder.write("--id,--a\n1,x\n", to: "--list.csv")
    let result = try await Tool.shell(
      "$tandem mirror --key=--id --table=--key -nq -- --list.csv --a.db; $tandem diff --key=--id -- --list.csv --list.csv",
      in: folder)
    #expect(result.status == 0 && result.error.isEmpty)
  }

  @Test("the distance of two words is the number of slips of the finger between them")
  func distances() {
    let distances = [
      ("", "", 0), ("a", "", 1), ("", "abc", 3), ("diff", "diff", 0), ("dfif", "diff", 1),
      ("dif", "diff", 1), ("difff", "diff", 1), ("duff", "diff", 1), ("abcd", "badc", 2),
      ("kitten", "sitting", 3), ("é", "e", 1),
    ]
    for (first, second, distance) in distances {
      #expect(Spelling.distance(first, second) == distance, "\(first) and \(second)")
      #expect(Spelling.distance(second, first) == distance, "\(second) and \(first)")
    }
  }

  @Test("the closest word is one that is near, or one that begins so")
  func closest() {
    let words = ["mirror", "diff", "--max-deletes"]
    #expect(Spelling.closest(to: "miror", among: words) == "mirror")
    #expect(Spelling.closest(to: "--max", among: words) == "--max-deletes")
    #expect(Spelling.closest(to: "frobnicate", among: words) == nil)
    #expect(Spelling.closest(to: "", among: words) == nil)
    #expect(Spelling.closest(to: "x", among: []) == nil)
  }
}
