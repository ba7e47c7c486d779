import Tandem
import TandemPostgreSQL
import TandemServer

extension ServeCommand {
  /// Checks, without serving, what can be checked; reports all faults.
  ///
  /// A server that runs with this configuration is not disturbed: it keeps its address and its directory.
  static func check(_ arguments: ParsedArguments, faults: [String]) async throws -> Int32 {
    var faults = faults
    func note(_ error: any Error) {
      faults.append((error as? UsageError)?.message ?? "\(error)")
    }
    let warn = { @Sendable (text: String) in TandemCLI.report("warning: \(text)") }
    var hasTokens = false
    if let path = arguments[Option.tokens] {
      hasTokens = true
      do {
        faults += try TokenFile.read(path).faults.map { "\(path): \($0)" }
      } catch {
        note(error)
      }
    }
    do { _ = try webhook(arguments, secret: nil) } catch { note(error) }
    do { _ = try webhookSecret(arguments) } catch { note(error) }
    do {
      let server = try followedServer(arguments)
      if arguments[Option.store] == nil {
        let directory = arguments[Option.data] ?? defaultDirectory
        // After its promotion, the directory follows no server.
        if !Following.isPromoted(directory) {
          do { try server?.checkToken() } catch { note(error) }
        }
        _ = try checkFollows(directory, server)
      }
    } catch {
      note(error)
    }
    do {
      if let address = try storeAddress(arguments) {
        let database = try await PostgreSQLDatabase.open(address: address, creates: false)
        do {
          if !hasTokens { hasTokens = try await database.tokens().version > 0 }
        } catch {
          note(error)
        }
        await database.close()
      } else {
        try checkDirectory(arguments[Option.data] ?? defaultDirectory)
      }
    } catch {
      note(error)
    }
    do {
      let webTokens = try await webTokens(arguments, hasOthers: hasTokens) { warn($0.message) }
      if webTokens != nil { hasTokens = true }
    } catch {
      note(error)
    }
    if let warning = webhookWarning(arguments) { warn(warning) }
    do {
      let address = arguments[Option.listen] ?? .usual
      // Any port, because the server may use its own already.
      let socket = try ListeningSocket(host: address.host, port: 0, allowsOthers: hasTokens)
      var identity: HTTPServer.Identity?
      do { identity = try Self.identity(arguments) } catch { note(error) }
      if let warning = identity?.warning { warn(warning) }
      if hasTokens, identity == nil, !socket.isLoopback { warn(unencryptedWarning) }
      _ = try HTTPServer(socket, identity: identity, responder: NoResponder())
    } catch {
      note(error)
    }
    for fault in faults { TandemCLI.report(fault) }
    guard faults.isEmpty else { return failureStatus }
    try OutputStream.printLines(["the configuration has no faults"])
    return ExitStatus.success
  }

  private static func checkDirectory(_ path: String) throws {
    guard access(path, F_OK) == 0 else {
      return try checkWritable(AtomicFile.directory(of: path))
    }
    _ = try SpaceDirectory(reading: path)
    try checkWritable(path)
  }

  private static func checkWritable(_ path: String) throws {
    guard access(path, W_OK | X_OK) == 0 else {
      throw UsageError(
        "cannot write into the directory \(path): \(String(cString: strerror(errno)))")
    }
  }
}

/// Answers nothing, because its server never runs.
private struct NoResponder: HTTPResponder {
  func admission(of head: ServedRequestHead) -> HTTPAdmission { .accepted(client: nil) }
  func answer(_ request: ServedRequest) async -> HTTPAnswer { HTTPAnswer(status: 503, "") }
  func answer(to trouble: ServerTrouble) -> HTTPAnswer { HTTPAnswer(status: 503, "") }
}
