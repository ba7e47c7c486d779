import Foundation
import TandemChannels
import TandemLinks
import TestFolder
import Testing

@Suite(.timeLimit(.minutes(20)))
struct SocketFileTests {
  private let address = temporarySocket()
  private var path: String {
    if case .unix(let path) = address { path } else { "" }
  }
  private var lockPath: String { path + ".tandem-lock" }

  private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  @Test("a lock that somebody holds on the folder does not matter")
  func folder() throws {
    let scratch = try TemporaryFolder()
    let number = open(scratch.path, O_RDONLY)
    #expect(flock(number, LOCK_EX) == 0)
    defer { close(number) }
    try SocketListener(at: .unix(path: scratch.path + "/s")).close()
  }

  @Test("a lock that somebody holds on the file for ever is an error, and none once it is released")
  func lock() throws {
    let number = open(lockPath, O_RDWR | O_CREAT, 0o600)
    #expect(flock(number, LOCK_EX) == 0)
    #expect {
      try SocketListener(at: address)
    } throws: {
      "\($0)".contains("another process holds the lock \(lockPath)")
    }
    // By word: a process that another test starts just now may have a copy of the number.
    flock(number, LOCK_UN)
    close(number)
    let listener = try SocketListener(at: address)
    #expect(!exists(lockPath) && exists(path))
    listener.close()
    #expect(!exists(path))
  }

  @Test("a file of somebody that is named like the lock stays as it is")
  func namesake() throws {
    try Data("mine".utf8).write(to: URL(fileURLWithPath: lockPath))
    defer { try? FileManager.default.removeItem(atPath: lockPath) }
    try SocketListener(at: address).close()
    #expect(FileManager.default.contents(atPath: lockPath) == Data("mine".utf8))
  }

  @Test("a file whose permissions were changed is removed all the same")
  func permissions() throws {
    let listener = try SocketListener(at: address)
    #expect(chmod(path, 0o660) == 0)
    listener.close()
    #expect(!exists(path))
  }
}
