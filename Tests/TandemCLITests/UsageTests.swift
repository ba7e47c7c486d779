import Foundation
import TestFolder
import TestTool
import Testing

@testable import TandemCLI

@Suite("tandem: what is typed", .timeLimit(.minutes(20)))
struct UsageTests {
  static let mirror = ["mirror", "list.json", "a.db", "--table", "t", "--key", "id"]

  @Test(
    "help and the version are asked for, and go to standard output",
    arguments: [
      (["--help"], "usage: tandem COMMAND"), (["-h"], "usage: tandem COMMAND"),
      (["help"], "usage: tandem COMMAND"), (["help", "help"], "usage: tandem COMMAND"),
      (["help", "--help"], "usage: tandem COMMAND"), (["help", "-h"], "usage: tandem COMMAND"),
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
      (["mirror", "-", ":memory:", "--table", "t", "--key", "id"], ["DATABASE is a file"]),
      (["help", "--version"], ["unknown command '--version'\n"]),
      (["help", "diff", "merge"], ["unexpected argument 'merge'"]),
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
        ["--key takes names of fields with commas between them, each once"]
      ),
      (["diff", "a", "b", "--key", "x,x"], ["each once"]),
      (["diff", "a", "b", "--key", ""], ["--key takes names"]),
      (["diff", "a", "b", "-q", "--json"], ["--quiet prints nothing, and --json something"]),
      (
        ["merge", "--base", "a", "--unknown-base", "--local", "b", "--remote", "c", "--key", "id"],
        ["--base and --unknown-base exclude each other"]
      ),
      (
        ["merge", "--local", "b", "--remote", "c", "--key", "id"],
        ["--base is missing", "write --unknown-base"]
      ),
      (
        ["conflicts", "a.db", "resolve", "1", "--take", #"{"done":true}"#],
        ["base, null, or a JSON object", "1 and 0 for true and false"]
      ),
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
      (mirror + ["--header", "A: b"], ["--header is for a list from a URL"]),
      (mirror + ["--page", "link"], ["--page is for a list from a URL"]),
      (mirror + ["--same-origin"], ["--same-origin is for a list from a URL"]),
      (
        ["mirror", "http://a", "b", "--table", "t", "--key", "id", "--same-origin"],
        ["--same-origin needs --page link, header= or cursor="]
      ),
      (
        mirror + ["--unconditional"],
        ["--unconditional is for a list from a URL, or for --content"]
      ),
      (mirror + ["--revalidate"], ["--revalidate needs --content or --preview"]),
      (mirror + ["--timeout", "1"], ["--timeout is for a list from a URL, or for --content"]),
      (mirror + ["--retries", "1"], ["--retries is for a list from a URL, or for --content"]),
    ])
  func mistakes(arguments: [String], words: [String]) async throws {
    let result = try await Tool.run(arguments)
    #expect(result.status == 2)
    #expect(result.output.isEmpty)
    for word in words { #expect(result.error.contains(word)) }
  }

  @Test("help has an example of each command, which that command understands")
  func examples() async throws {
    let help = try await Tool.run(["help"]).output
    let examples = try #require(help.split(separator: "examples:\n").last)
      .split(separator: "\n")
    #expect(examples.count == TandemCLI.commands.count)
    for (example, command) in zip(examples, TandemCLI.commands) {
      let words = example.split(separator: " ").map(String.init)
      #expect(words.prefix(2) == ["tandem", command.specification.name])
      _ = try ParsedArguments(Array(words.dropFirst(2)), for: command.specification)
    }
  }

  @Test("help groups the commands by job, and names each once")
  func jobs() {
    let parts = TandemCLI.helpText.components(separatedBy: "\n\n")
    for job in TandemCLI.jobs {
      let part = parts.first { $0.hasPrefix("\(job.title):\n") } ?? ""
      let names = part.split(separator: "\n").dropFirst()
        .compactMap { $0.split(separator: " ").first.map(String.init) }
      #expect(names.filter { $0 != "help" } == job.commands.map { $0.specification.name })
    }
    let names = TandemCLI.specifications.map(\.name)
    #expect(Set(names).count == names.count && !names.isEmpty)
  }

  @Test("the help of a command has its examples before everything else")
  func examplesFirst() {
    for command in TandemCLI.specifications {
      let parts = command.helpText.components(separatedBy: "\n\n")
      let examples = command.examples.map { "\n  \($0)" }.joined()
      #expect(parts.prefix(3) == [command.usage, command.summary, "examples:\(examples)"])
    }
  }

  @Test("help that cannot be written is trouble, and said to be")
  func unwritableHelp() async throws {
    let folder = try TemporaryFolder()
    for (arguments, status) in [
      ("--help", 1), ("--version", 1), ("help", 1), ("help diff", 2), ("diff --help", 2),
      ("help mirror", 1), ("mirror -h", 1),
    ] {
      let full = try await Tool.shell("$tandem \(arguments) >/dev/full", in: folder)
      #expect(full.status == status, "\(arguments)")
      #expect(full.error.hasPrefix("tandem: cannot write output: No space"), "\(arguments)")
    }
  }

  @Test("errors of files and addresses that do not exist say what to do")
  func absentFiles() async throws {
    let folder = try TemporaryFolder()
    let log = try await Tool.shell("$tandem log --space nope", in: folder)
    #expect(log.status == 1)
    #expect(log.error.contains("there is no such file; for a space of a server"))
    let send = try await Tool.shell(
      "$tandem channel send unix:$PWD/s --subject A --id 1 a=1", in: folder)
    #expect(send.status == 1)
    #expect(send.error.contains("; a program must listen there first, such as: tandem channel"))
    let diff = try await Tool.shell(
      "sqlite3 a.db 'CREATE TABLE t (x)'; cp a.db b.db; $tandem diff a.db b.db --table t",
      in: folder)
    #expect(diff.status == 2)
    #expect(
      diff.error.contains("--key is missing: the table t has no primary key"), "\(diff.error)")
  }

  @Test("Ctrl-C removes the line with the progress, and ends the command by the signal")
  func interruptedProgress() async throws {
    let folder = try TemporaryFolder()
    // Python has a terminal to offer. The list has no end before the line is drawn.
    _ = try folder.write(
      #"""
      import os, signal, socket, subprocess, sys
      listener = socket.create_server(("127.0.0.1", 0))
      master, slave = os.openpty()
      url = "http://127.0.0.1:%d/" % listener.getsockname()[1]
      process = subprocess.Popen(
          [sys.argv[1], "mirror", url, "a.db", "--table", "t", "--key", "id"],
          stdout=subprocess.DEVNULL, stderr=slave, env={**os.environ, "TERM": "xterm"})
      os.close(slave)
      connection = listener.accept()[0]
      connection.recv(65536)
      head = b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nContent-Length: 1000000000\r\n\r\n"
      connection.sendall(head + b"id\n")
      os.set_blocking(master, False)
      shown = b""
      while b"reading" not in shown:
          connection.sendall(b"1\n")
          try: shown += os.read(master, 4096)
          except BlockingIOError: pass
      process.send_signal(signal.SIGINT)
      process.wait()
      os.set_blocking(master, True)
      try:
          while more := os.read(master, 4096): shown += more
      except OSError: pass
      print(process.returncode, shown.endswith(b"\r\x1b[K"))
      """#, to: "interrupt.py")
    let result = try await Tool.shell("python3 interrupt.py $tandem", in: folder)
    #expect(result.output == "-2 True\n", "\(result.output)\(result.error)")
  }

  @Test("an argument that is not UTF-8 is refused: repaired, it would name another file")
  func bytes() async throws {
    let folder = try TemporaryFolder()
    let list = try folder.write(#"[{"id":1}]"#, to: "list.json")
    let before = try folder.contents()
    for octal in ["376", "377"] {
      let result = try await Tool.shell(
        "$tandem mirror \(list) \"$(printf 'a\\\(octal).db')\" --table t --key id", in: folder)
      #expect(result.status == 2 && result.output.isEmpty)
      #expect(result.error.contains("argument 3, 'a\u{FFFD}.db', is not UTF-8"))
    }
    #expect(try folder.contents() == before)
  }

  @Test("options of requests go with a list from a file if contents are fetched")
  func requestOptions() async throws {
    let folder = try TemporaryFolder()
    let list = try folder.write(#"[{"id":1,"url":null}]"#, to: "list.json")
    for field in ["--content", "--preview"] {
      let result = try await Tool.run([
        "mirror", list, folder.path(of: "a.db"), "--table", "t", "--key", "id", field, "url",
        "--into", folder.path(of: "files"), "--timeout", "1", "--retries", "1",
      ])
      #expect(!result.error.contains("is for a list from a URL"))
    }
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
