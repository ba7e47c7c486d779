import CFloors
import Foundation
import Synchronization

/// The most memory that a job occupies at a time, beyond what is occupied when it begins: that of this process, and
/// that of the largest program which the job runs.
///
/// Linux only: elsewhere a process cannot reset its peak, and there is no figure.
enum PeakMemory {
  private static let peakOfPrograms = Mutex<Int?>(nil)

  /// Whether programs are run through a small process that reports their memory; see ``Program/output(_:statuses:)``.
  static var isMeasured: Bool { peakOfPrograms.withLock { $0 != nil } }

  /// Notes the peak of a program that has ended, in bytes.
  static func note(_ byteCount: Int) {
    peakOfPrograms.withLock { peak in peak = peak.map { max($0, byteCount) } }
  }

  /// Runs `body`, and returns the bytes; `nil` if the system does not tell.
  static func byteCount(of body: () throws -> Void) rethrows -> Int? {
    // What the contender before has freed must not be what this one uses unnoticed.
    let before = Int(floor_resident_byte_count())
    guard before >= 0,
      (try? Data("5".utf8).write(to: URL(filePath: "/proc/self/clear_refs"))) != nil
    else {
      try body()
      return nil
    }
    peakOfPrograms.withLock { $0 = 0 }
    defer { peakOfPrograms.withLock { $0 = nil } }
    try body()
    let own = peakByteCount(ofProcess: getpid()).map { max(0, $0 - before) } ?? 0
    return own + (peakOfPrograms.withLock { $0 } ?? 0)
  }

  /// The most memory that a process has occupied at a time since its peak was last reset; `nil` if the system does
  /// not tell.
  static func peakByteCount(ofProcess id: pid_t) -> Int? {
    guard let text = try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") })
    else { return nil }
    return Int(line.filter(\.isNumber)).map { $0 << 10 }
  }
}
