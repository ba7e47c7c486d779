import Foundation
import TandemChannels
import TandemLinks
import Testing

struct SocketAddressTests {
  @Test(
    "an address is read as it is written",
    arguments: [
      ("unix:/a/b", SocketAddress.unix(path: "/a/b")), ("/a/b", .unix(path: "/a/b")),
      ("unix:relative", .unix(path: "relative")), (":80", .tcp(host: "127.0.0.1", port: 80)),
      ("a.example:65535", .tcp(host: "a.example", port: 65_535)),
      ("tcp:h:1", .tcp(host: "h", port: 1)), ("[::1]:9", .tcp(host: "::1", port: 9)),
    ])
  func reading(_ text: String, _ address: SocketAddress) {
    #expect(SocketAddress(text) == address)
    #expect(SocketAddress(address.description) == address)
  }

  @Test("an invalid address is nil", arguments: ["", "unix:", "host", "h:", "h:65536", "h:-1"])
  func refusing(_ text: String) {
    #expect(SocketAddress(text) == nil)
  }

  @Test("a socket file that somebody listens at is not taken; one that is left over is")
  func leftover() async throws {
    let address = temporarySocket()
    let listener = try SocketListener(at: address)
    #expect(throws: ChannelLinkError.self) { try SocketListener(at: address) }
    listener.close()
    try SocketListener(at: address).close()
    #expect(throws: ChannelLinkError.self) {
      try SocketListener(at: .unix(path: "/" + String(repeating: "x", count: 200)))
    }
  }

  @Test("a file that is no socket stays as it is, and so does a socket of somebody else")
  func otherFiles() throws {
    let address = temporarySocket()
    guard case .unix(let path) = address else { return }
    let manager = FileManager.default
    defer { try? manager.removeItem(atPath: path) }
    try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
    #expect(throws: ChannelLinkError.self) { try SocketListener(at: address) }
    #expect(manager.contents(atPath: path) == Data("mine".utf8))
    try manager.removeItem(atPath: path)

    let first = try SocketListener(at: address)
    try manager.removeItem(atPath: path)
    let second = try SocketListener(at: address)
    first.close()
    #expect(manager.fileExists(atPath: path), "the first one's file was not this")
    second.close()
    #expect(!manager.fileExists(atPath: path))
  }

  @Test("nobody but its owner may use a socket's file")
  func permissions() throws {
    let address = temporarySocket()
    guard case .unix(let path) = address else { return }
    let listener = try SocketListener(at: address)
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    listener.close()
  }
}
