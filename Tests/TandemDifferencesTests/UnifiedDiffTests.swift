import Foundation
import TandemDifferences
import TestFolder
import TestRandom
import Testing

@Suite("Unified diffs")
struct UnifiedDiffTests {
  @Test("changed lines stand between three lines of context")
  func example() {
    let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
    let diff = UnifiedDiff(from: old, to: "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n")
    #expect(
      diff.description == """
        --- old
        +++ new
        @@ -2,8 +2,9 @@
         2
         3
         4
        -5
        +five
         6
         7
         8
         9
        +10

        """)
  }

  @Test("hunks further apart than their contexts are separate, and a single line has no count")
  func separate() {
    let old = "a\nb\nc\nd\ne\n"
    let diff = UnifiedDiff(from: old, to: "A\nb\nc\nd\nE\n", contextLineCount: 1)
    #expect(diff.hunks.map(\.oldStart) == [1, 4])
    let bare = UnifiedDiff(from: "a\nb\n", to: "A\nb\n", contextLineCount: -1)
    #expect(bare.description == "--- old\n+++ new\n@@ -1 +1 @@\n-a\n+A\n")
  }

  @Test("a missing line feed at the end is said")
  func noLineFeed() {
    let diff = UnifiedDiff(from: "a", to: "a\n")
    #expect(
      diff.description == """
        --- old
        +++ new
        @@ -1 +1 @@
        -a
        \\ No newline at end of file
        +a

        """)
  }

  @Test("an empty text begins at line 0, and equal texts have no hunks")
  func empty() {
    #expect(UnifiedDiff(from: "", to: "a\n").hunks.first?.description == "@@ -0,0 +1 @@\n+a\n")
    #expect(UnifiedDiff(from: "a\n", to: "").hunks.first?.description == "@@ -1 +0,0 @@\n-a\n")
    #expect(UnifiedDiff(from: "a", to: "a").isEmpty)
    #expect(UnifiedDiff(from: "a", to: "a").description == "")
  }

  @Test("names are quoted as git quotes them")
  func names() {
    func header(_ name: String) -> Substring? {
      UnifiedDiff(from: "", to: "a", oldName: name).description.split(separator: "\n").first
    }
    #expect(header("a/é.txt") == "--- a/é.txt")
    #expect(header("a b") == "--- a b\t")
    #expect(header("a\n\"b\\") == #"--- "a\012\"b\\""#)
  }

  // MARK: - Against the programs

  @Test(
    "patch makes the new text of the old one", .enabled(if: isInstalled("patch")), arguments: 0..<30
  )
  func patchProgram(seed: Int) throws {
    var random = SplitMix64(seed: seed)
    let (old, new) = Self.texts(&random)
    let folder = try TemporaryFolder()
    let oldFile = try folder.write(old, to: "old")
    let diff = UnifiedDiff(from: old, to: new, contextLineCount: seed % 5)
    let diffFile = try folder.write(diff.description, to: "diff")
    let result = try Self.run([
      "patch", "--silent", "--binary", "-o", folder.path(of: "result"), oldFile, diffFile,
    ])
    #expect(result.status == 0, "seed \(seed): \(result.output)")
    #expect(folder.bytes(of: "result") == Array(new.utf8), "seed \(seed)")
  }

  @Test(
    "git apply makes the new text of the old one", .enabled(if: isInstalled("git")),
    arguments: 0..<12)
  func gitProgram(seed: Int) throws {
    var random = SplitMix64(seed: 1_000 + seed)
    var (old, new) = Self.texts(&random)
    while old.isEmpty || new.isEmpty { (old, new) = Self.texts(&random) }
    let folder = try TemporaryFolder()
    let name = ["file", "a file", "\u{E9}\"\\"][seed % 3]
    _ = try folder.write(old, to: name)
    let diff = UnifiedDiff(from: old, to: new, oldName: "a/\(name)", newName: "b/\(name)")
    let diffFile = try folder.write(diff.description, to: "diff")
    let result = try Self.run(["git", "apply", diffFile], in: folder)
    #expect(result.status == 0, "seed \(seed): \(result.output)")
    #expect(folder.bytes(of: name) == Array(new.utf8), "seed \(seed)")
  }

  @Test(
    "as many lines change as diff --minimal finds", .enabled(if: isInstalled("diff")),
    arguments: 0..<20)
  func diffProgram(seed: Int) throws {
    var random = SplitMix64(seed: 2_000 + seed)
    let (old, new) = Self.texts(&random)
    let folder = try TemporaryFolder()
    let files = [try folder.write(old, to: "old"), try folder.write(new, to: "new")]
    let result = try Self.run(["diff", "--text", "--minimal", "-U0"] + files)
    func changedLineCount(_ diff: String) -> Int {
      diff.utf8.split(separator: 0x0A).dropFirst(2).count { [0x2B, 0x2D].contains($0.first) }
    }
    let diff = UnifiedDiff(from: old, to: new, contextLineCount: 0).description
    #expect(changedLineCount(diff) == changedLineCount(result.output), "seed \(seed)")
  }

  private static func texts(_ random: inout SplitMix64) -> (old: String, new: String) {
    let pieces = ["a\n", "b\n", "c\r\n", "-\n", "+ \u{E9}\n", "\n", "\\ d\n", "e\u{301}"]
    while true {
      let old = random.text(of: pieces, count: random.below(60))
      let new = random.edited(old, editCount: 1 + random.below(8), pieces: pieces)
      if new != old { return (old, new) }
    }
  }

  private static func isInstalled(_ program: String) -> Bool {
    (try? run(["sh", "-c", "command -v \(program)"]).status) == 0
  }

  private static func run(
    _ arguments: [String], in folder: TemporaryFolder? = nil
  ) throws -> (status: Int32, output: String) {
    // Neither somebody's settings nor a repository around the temporary files are to matter.
    let environment = [
      "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "LC_ALL": "C",
      "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
      "GIT_CEILING_DIRECTORIES": FileManager.default.temporaryDirectory.path,
    ]
    let pipe = Pipe()
    let program = try TestProgram(
      ["env"] + arguments, output: .pipe(pipe), error: .pipe(pipe), folder: folder?.path,
      environment: environment)
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    return (program.waitUntilEnd(), String(decoding: output, as: UTF8.self))
  }
}
