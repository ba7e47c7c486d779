package import Foundation
package import TestFolder
internal import Testing

/// The executable `tandem`, run as a process of its own.
package enum Tool {
  /// What came of a run.
  package struct Result {
    /// The exit status, or minus the signal that ended the process.
    package var status: Int32
    package var output: String
    package var error: String
  }

  /// The executable, which the build puts beside the tests.
  package static let path: String = {
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundlePath
    return URL(fileURLWithPath: bundle ?? CommandLine.arguments[0]).deletingLastPathComponent()
      .appendingPathComponent("tandem").path
  }()

  /// Runs `tandem` to its end with the given arguments.
  package static func run(_ arguments: [String], input: String = "") async throws -> Result {
    try await run(path, arguments, input: input)
  }

  /// Runs lines of shell in a folder, with `$tandem` for the executable, and a `sqlite3` that waits for
  /// a file that another process reads or writes just then.
  package static func shell(_ lines: String, in folder: TemporaryFolder) async throws -> Result {
    let patience = "sqlite3() { command sqlite3 -cmd '.timeout 120000' \"$@\"; }"
    return try await run(
      "/bin/sh", ["-c", "tandem='\(path)'; cd '\(folder.path)'; \(patience); \(lines)"], input: "")
  }

  private static func run(
    _ executable: String, _ arguments: [String], input: String
  ) async throws -> Result {
    let folder = try TemporaryFolder()
    let files = try [
      FileHandle(forReadingFrom: URL(fileURLWithPath: folder.write(input, to: "input"))),
      folder.newFile("output"), folder.newFile("error"),
    ]
    let program = try TestProgram(
      [executable] + arguments, input: .file(files[0]), output: .file(files[1]),
      error: .file(files[2]))
    let status = await program.end()
    return Result(
      status: status, output: try folder.text(of: "output"), error: try folder.text(of: "error"))
  }
}

/// A suite whose tests run lines of shell in a folder.
package protocol ShellSuite {
  var folder: TemporaryFolder { get }
}

extension ShellSuite {
  /// Runs lines of shell, see ``Tool/shell(_:in:)``, and expects their exit status.
  @discardableResult
  package func shell(_ lines: String, status: Int32 = 0) async throws -> Tool.Result {
    let result = try await Tool.shell(lines, in: folder)
    #expect(result.status == status, "\(lines): \(result.output)\(result.error)")
    return result
  }
}

extension TemporaryFolder {
  /// An empty file, to be written.
  package func newFile(_ name: String) throws -> FileHandle {
    try FileHandle(forWritingTo: URL(fileURLWithPath: write("", to: name)))
  }
}

#if os(Linux)
  /// How many bytes are in a pipe.
  package func byteCount(_ descriptor: Int32) -> Int {
    var count: Int32 = 0
    _ = ioctl(descriptor, UInt(FIONREAD), &count)
    return Int(count)
  }
#endif
