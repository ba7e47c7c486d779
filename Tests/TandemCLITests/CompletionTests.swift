import Foundation
import TestFolder
import TestTool
import Testing

@testable import TandemCLI

@Suite("tandem completions, in the shells themselves", .timeLimit(.minutes(20)))
struct CompletionTests {
  /// A line that is typed, and the same line after Tab.
  struct Line: Sendable, CustomTestStringConvertible {
    var typed: String
    var completed: String

    init(_ typed: String, _ completed: String) {
      self.typed = typed
      self.completed = completed
    }

    var testDescription: String { typed }
  }

  static let lines = [
    Line("tandem mirr", "tandem mirror "),
    Line("tandem --vers", "tandem --version "),
    Line("tandem help mer", "tandem help merge "),
    Line("tandem man mer", "tandem man merge "),
    Line("tandem completions f", "tandem completions fish "),
    Line("tandem mirror --max-d", "tandem mirror --max-deletes "),
    Line("tandem diff old new --format nd", "tandem diff old new --format ndjson "),
    Line("tandem diff old new --format=nd", "tandem diff old new --format=ndjson "),
    Line("tandem merge --prefer=r", "tandem merge --prefer=remote "),
    Line("tandem channel li", "tandem channel listen "),
    Line("tandem conflicts list.json res", "tandem conflicts list.json resolve "),
    Line("tandem conflicts list.json --take rem", "tandem conflicts list.json --take remote "),
    Line("tandem mirror list.", "tandem mirror list.json "),
    Line("tandem mirror --table t list.", "tandem mirror --table t list.json "),
    Line("tandem merge --base list.", "tandem merge --base list.json "),
    Line("tandem merge --base=list.", "tandem merge --base=list.json "),
    Line("tandem merge -o list.", "tandem merge -o list.json "),
    Line("tandem channel --id u li", "tandem channel --id u listen "),
    Line("tandem conflicts --json list.", "tandem conflicts --json list.json "),
    Line("tandem diff 'two w", "tandem diff 'two words.csv' "),
    // A directory, although a file begins with these letters too.
    Line("tandem mirror - a.db --into lis", "tandem mirror - a.db --into listings/"),
    // Nothing fits: the line stays.
    Line("tandem conflicts list.json list.", "tandem conflicts list.json list."),
    Line("tandem mirror --table list.", "tandem mirror --table list."),
    Line("tandem channel send :4000 --id list.", "tandem channel send :4000 --id list."),
    Line("tandem diff --zzz", "tandem diff --zzz"),
  ]

  /// A folder with the completions, and files to be found.
  private func folder(for shell: String) async throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    let script = try await Tool.run(["completions", shell])
    #expect(script.status == 0 && script.error.isEmpty)
    try folder.write(script.output, to: "completions")
    try FileManager.default.createDirectory(
      atPath: folder.path(of: "files/listings"), withIntermediateDirectories: true)
    try folder.write("[]", to: "files/list.json")
    try folder.write("", to: "files/two words.csv")
    return folder
  }

  private static func isInstalled(_ shell: String) -> Bool {
    FileManager.default.isExecutableFile(atPath: "/usr/bin/\(shell)")
      || FileManager.default.isExecutableFile(atPath: "/bin/\(shell)")
  }

  @Test("bash completes commands, options, their words, files and directories")
  func bash() async throws {
    let folder = try await folder(for: "bash")
    try folder.write(
      """
      cd '\(folder.path)/files'
      source ../completions
      bind 'set bell-style none'
      bind 'set completion-query-items 0'
      bind -x '"\\C-t": printf "<<%s>>\\n" "$READLINE_LINE"'
      """, to: "startup")
    for line in Self.lines {
      let shell = try TypedShell("bash --noprofile --rcfile '\(folder.path)/startup' -i")
      #expect(try await shell.line(after: line.typed + "\t") == line.completed, "\(line.typed)")
    }
  }

  @Test(
    "zsh completes commands, options, their words, files and directories",
    .enabled(if: isInstalled("zsh"), "zsh is not installed: scripts/bootstrap test"))
  func zsh() async throws {
    let folder = try await folder(for: "zsh")
    try folder.write(
      """
      cd '\(folder.path)/files'
      autoload -Uz compinit
      compinit -D -u
      source ../completions
      setopt no_beep no_auto_remove_slash
      show() { print -r -- "<<$BUFFER>>" }
      zle -N show
      bindkey '^T' show
      """, to: ".zshrc")
    for line in Self.lines {
      let shell = try TypedShell("ZDOTDIR='\(folder.path)' zsh -i")
      // zsh ends an option that takes a value by =.
      let completed =
        line.completed == "tandem mirror --max-deletes "
        ? "tandem mirror --max-deletes=" : line.completed
      #expect(try await shell.line(after: line.typed + "\t") == completed, "\(line.typed)")
    }
  }

  @Test(
    "fish completes commands, options, their words, files and directories",
    .enabled(if: isInstalled("fish"), "fish is not installed: scripts/bootstrap test"))
  func fish() async throws {
    let folder = try await folder(for: "fish")
    for line in Self.lines where !line.typed.contains("'") {
      let result = try await Tool.shell(
        "export HOME='\(folder.path)'; cd files; fish --no-config -c 'source ../completions; complete -C \"\(line.typed)\"'",
        in: folder)
      let word = line.completed.trimmingCharacters(in: .whitespaces).split(separator: " ").last
      let expected = line.typed == line.completed ? [] : [String(try #require(word))]
      let offered = result.output.split(separator: "\n").map { $0.prefix { $0 != "\t" } }
      #expect(offered.map(String.init) == expected, "\(line.typed)")
    }
  }

  @Test("each option of each command is in the completions of each shell")
  func options() {
    let commands = TandemCLI.specifications
    for shell in CompletionsCommand.Shell.allCases {
      let script = shell.script(for: commands)
      for option in commands.flatMap(\.options) { #expect(script.contains(option.name)) }
    }
  }

  @Test("another shell is an error that names those there are")
  func unknownShell() async throws {
    let result = try await Tool.run(["completions", "fis"])
    #expect(result.status == 2)
    #expect(result.error.contains("SHELL is bash, zsh or fish, not 'fis'; did you mean fish?"))
  }
}

/// A shell in a terminal of its own, in which a line is typed.
private final class TypedShell {
  private let program: TestProgram
  private let input = Pipe()
  private let output: AsyncStream<UInt8>

  init(_ command: String) throws {
    let pipe = Pipe()
    program = try TestProgram(
      ["script", "-qfec", command, "/dev/null"], input: .pipe(input), output: .pipe(pipe),
      error: .null)
    let (bytes, continuation) = AsyncStream<UInt8>.makeStream()
    output = bytes
    let reading = pipe.fileHandleForReading
    Thread.detachNewThread {
      while let data = try? reading.read(upToCount: 1), let byte = data.first {
        continuation.yield(byte)
      }
      continuation.finish()
    }
  }

  /// The command line after the keys, which the shell prints between angle brackets for Ctrl-T.
  func line(after keys: String) async throws -> String? {
    try input.fileHandleForWriting.write(contentsOf: Data((keys + "\u{14}").utf8))
    var text: [UInt8] = []
    for await byte in output {
      text.append(byte)
      guard byte == UInt8(ascii: ">"), text.suffix(2) == Array(">>".utf8) else { continue }
      let shown = String(decoding: text, as: UTF8.self)
      return shown.components(separatedBy: "<<").last.map { String($0.dropLast(2)) }
    }
    return nil
  }
}
