import Foundation
import TandemChannels
import TandemLinks
import TestFolder
import Testing

/// A link between this process and `tandem` in others.
@Suite(.timeLimit(.minutes(20)))
@MainActor struct ChannelLinkProcessTests {
  let hub = ChannelHub(limits: ChannelLimits(maxRememberedValueCount: 10))
  let channel = Channel<LinkedUser>(id: "1")

  private func tandem(_ arguments: [String]) throws -> (tool: TestProgram, output: Pipe) {
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundlePath
    let path = URL(fileURLWithPath: bundle ?? CommandLine.arguments[0]).deletingLastPathComponent()
      .appendingPathComponent("tandem").path
    let output = Pipe()
    let tool = try TestProgram(
      [path, "channel"] + arguments + ["--timeout", "3600"], output: .pipe(output))
    return (tool, output)
  }

  /// What comes first. It is waited for on a thread of its own, because tasks have no more threads than
  /// there are cores, and what comes depends on other tasks.
  private func firstText(of output: Pipe) async -> String {
    let file = output.fileHandleForReading
    return await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(returning: String(decoding: file.availableData, as: UTF8.self))
      }
    }
  }

  /// Runs `tandem channel` to its end; returns what it printed.
  private func run(_ arguments: [String]) async throws -> String {
    let (tool, output) = try tandem(arguments)
    #expect(await tool.end() == 0)
    return String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
  }

  @Test(
    "a process that listens is killed; the others notice nothing, and the next one is up to date")
  func killing() async throws {
    let address = temporarySocket()
    let (breaks, broken) = AsyncStream.makeStream(of: Void.self)
    let listener = try SocketListener(at: address)
    let link = ChannelLink(hub, subjects: [linkedUsers], options: .patient)
    let serving = Task { try await link.run(accepting: listener) { _ in broken.yield() } }
    hub.send(\.name, "Tom", on: channel)

    let (tool, output) = try tandem(["listen", "--json", "--connect", "\(address)"])
    let line = await firstText(of: output)
    #expect(line == "{\"id\":\"1\",\"subject\":\"User\",\"values\":{\"name\":\"Tom\"}}\n")

    tool.send(SIGKILL)
    var breakings = breaks.makeAsyncIterator()
    await breakings.next()
    let model = LinkedModel()
    hub.bind(
      model, to: channel,
      through: KeyPathMap().mapping(\.name, to: \.name).mapping(\.age, to: \.age))
    var ages = hub.values(of: \LinkedUser.age, on: channel).makeAsyncIterator()
    _ = try await run([
      "send", "\(address)", "--subject", "User", "--id", "1", "name=\"Ann\"", "age=30",
    ])
    await expect(30, from: &ages)
    #expect(model.name == "Ann" && model.age == 30)

    let next = try await run([
      "listen", "\(address)", "--json", "--connect", "--count", "1", "--id", "\"1\"",
    ])
    #expect(
      next == "{\"id\":\"1\",\"subject\":\"User\",\"values\":{\"age\":30,\"name\":\"Ann\"}}\n")
    serving.cancel()
    _ = await serving.result
  }

  @Test(
    "a link finds a listening process that was killed and started again, with all it should know")
  func restarting() async throws {
    let address = temporarySocket()
    let link = ChannelLink(hub, subjects: [linkedUsers], options: .patient)
    hub.send(\.name, "Tom", on: channel)
    let (tool, output) = try tandem(["listen", "--json", "\(address)"])
    let (breaks, broken) = AsyncStream.makeStream(of: Bool.self)
    let linking = Task {
      await link.run(onBreak: { broken.yield($0?.message.hasPrefix("cannot use") != true) }) {
        try await SocketConnection.connect(to: address)
      }
    }
    let line = await firstText(of: output)
    #expect(line == "{\"id\":\"1\",\"subject\":\"User\",\"values\":{\"name\":\"Tom\"}}\n")

    tool.send(SIGKILL)
    for await wasConnected in breaks where wasConnected { break }
    // Until it has ended, the system may not have closed all of its sockets.
    _ = await tool.end()
    hub.send(\.age, 30, on: channel)
    // The socket's file is still there, and is taken over.
    let next = try await run(["listen", "--json", "\(address)", "--count", "1"])
    #expect(
      next == "{\"id\":\"1\",\"subject\":\"User\",\"values\":{\"age\":30,\"name\":\"Tom\"}}\n")
    linking.cancel()
    await linking.value
    if case .unix(let path) = address { #expect(!FileManager.default.fileExists(atPath: path)) }
  }
}
