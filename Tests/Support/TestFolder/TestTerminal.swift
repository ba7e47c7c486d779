package import Foundation
import TestSystemCalls

/// A terminal that belongs to a test, for programs that behave otherwise on one.
package final class TestTerminal {
  /// The side of the program.
  package let programSide: FileHandle
  private let ownSide: FileHandle

  package init() throws {
    let descriptor = posix_openpt(O_RDWR | O_NOCTTY)
    guard descriptor >= 0, grantpt(descriptor) == 0, unlockpt(descriptor) == 0,
      let name = ptsname(descriptor)
    else { throw NSError(domain: NSPOSIXErrorDomain, code: Int(errno)) }
    ownSide = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    programSide = FileHandle(
      fileDescriptor: open(name, O_RDWR | O_NOCTTY), closeOnDealloc: true)
  }

  /// Reads until the program has written a text; returns false if that never happens.
  package func shows(_ text: String) async -> Bool {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { [ownSide] in
        var seen = ""
        // More than one byte would be waited for.
        while !seen.contains(text), let data = try? ownSide.read(upToCount: 1), !data.isEmpty {
          seen += String(decoding: data, as: UTF8.self)
        }
        continuation.resume(returning: seen.contains(text))
      }
    }
  }

  /// Closes the terminal, as when its window is closed; returns when programs notice it.
  ///
  /// That may be later: a program that another thread has just started has a copy of the descriptor until it runs.
  package func close() async throws {
    try ownSide.close()
    while isatty(programSide.fileDescriptor) == 1 { try await Task.sleep(for: .milliseconds(1)) }
    try programSide.close()
  }
}
