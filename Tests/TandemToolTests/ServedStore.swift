import Foundation
import TestFolder
import TestPostgreSQL
import TestTool
import Testing

@testable import TandemPostgreSQL

/// Spaces and access tokens in files or in a database, with a server.
final class ServedStore {
  /// The options of the store for commands about spaces.
  let words: String
  /// The options of the store for `tandem token`.
  let tokenWords: String
  /// The secrets of the access tokens by their accounts.
  private(set) var secrets: [String: String] = [:]
  /// The server that was started last, and its address.
  private(set) var server: RunningTool?
  private(set) var url = ""
  private let serveWords: [String]
  private let folder: TemporaryFolder

  init(isDatabase: Bool, _ folder: TemporaryFolder) throws {
    self.folder = folder
    guard isDatabase else {
      words = "--data spaces"
      tokenWords = "--tokens tokens"
      serveWords = ["--data", folder.path(of: "spaces"), "--tokens", folder.path(of: "tokens")]
      return
    }
    let address = try TestCluster.shared.get().makeDatabase()
    try PostgreSQLSchema.create(PostgreSQLConnection(address: address))
    words = "--store '\(address)'"
    tokenWords = words
    serveWords = ["--store", address]
  }

  /// Makes an access token of an account, and returns its secret.
  @discardableResult
  func makeToken(_ account: String, _ options: String) async throws -> String {
    let made = try await Tool.shell(
      "$tandem token create \(tokenWords) --account \(account) \(options)", in: folder)
    #expect(made.status == 0, "\(made.error)")
    let secret = String(made.output.dropLast())
    secrets[account] = secret
    return secret
  }

  /// Starts a server.
  func start(_ options: [String] = []) async throws {
    let server = try RunningTool(
      ["serve", "--listen", "127.0.0.1:0", "--json"] + serveWords + options)
    url = try await server.servedURL()
    self.server = server
  }

  /// Ends the server, and returns its log.
  @discardableResult
  func stop() async -> [String] {
    server?.signal(SIGTERM)
    #expect(await server?.end() == 0)
    var lines: [String] = []
    while let line = await server?.errorLine() { lines.append(line) }
    return lines
  }
}
