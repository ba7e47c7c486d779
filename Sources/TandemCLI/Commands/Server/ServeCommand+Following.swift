import Tandem
import TandemServer

/// The options of `tandem serve --follow`.
enum FollowOption {
  static let follow = ValueOption<String>(
    "follow", "URL",
    help: """
      Keep copies of the spaces of another server, and serve
      none until tandem promote. The token for it comes from
      --token-file or the variable TANDEM_TOKEN.
      """)
  static let tokenFile = ValueOption<String>(
    "token-file", "FILE",
    help: "With --follow: a file with the token, which was made by\ntandem token create --follow.")
  static let cacert = ValueOption<String>(
    "cacert", "FILE",
    help: "With --follow: trust the certificates in this PEM file\ninstead of the system's.")
  static let insecureHTTP = Flag(
    "insecure-http",
    help: """
      With --follow: send the token to another machine over
      http, where whoever sees the network can read it.
      """)
  static let all: [any CommandOption] = [follow, tokenFile, cacert, insecureHTTP]
}

extension ServeCommand {
  /// The server to follow; `nil` without `--follow`.
  static func followedServer(_ arguments: ParsedArguments) throws -> FollowedServer? {
    guard let url = arguments[FollowOption.follow] else {
      try arguments.checkAbsent(FollowOption.all, "belongs to --follow")
      return nil
    }
    guard arguments[Option.store] == nil else {
      throw arguments.error(
        "--follow is for spaces in files: a PostgreSQL database has standbys of its own, so leave out --store"
      )
    }
    let token = arguments[FollowOption.tokenFile].map { ServerToken.file($0) }
    return try FollowedServer(
      url, token: token ?? ReplicaFile.environmentToken,
      certificateAuthorityFile: arguments[FollowOption.cacert],
      allowsInsecureHTTP: arguments[FollowOption.insecureHTTP])
  }

  /// Throws if a directory cannot be served in this way.
  ///
  /// - Returns: False if it does not follow a server, although one is given: its spaces were promoted.
  static func checkFollows(_ directory: String, _ server: FollowedServer?) throws -> Bool {
    let leader = Following.leader(of: directory)
    guard let server else {
      guard let leader else { return false }
      throw FileError(
        path: directory, action: "served",
        reason:
          "its spaces are copies of those of \(leader): make them spaces of this server by tandem "
          + "promote, or follow the leader by --follow")
    }
    if Following.isPromoted(directory) {
      guard leader == nil else {
        throw FileError(
          path: directory, action: "served",
          reason: "its promotion was interrupted: run tandem promote again")
      }
      return false
    }
    guard leader == nil, access(directory, F_OK) == 0 else { return true }
    guard try SpaceDirectory(reading: directory).names().isEmpty else {
      throw FileError(
        path: directory, action: "served",
        reason:
          "it has spaces of its own, which are not those of \(server.url): follow with an empty "
          + "directory")
    }
    return true
  }

  /// Begins to follow a server in a directory.
  ///
  /// - Throws: If the server refuses it. A server that does not answer is no error.
  static func begin(
    _ server: FollowedServer, in directory: String, _ log: (ServerEvent) -> Void
  ) async throws {
    do {
      _ = try await server.spaces(after: nil)
    } catch let error as SyncRequestError where !error.isTransient {
      throw error
    } catch {
      log(
        ServerEvent(
          .warning,
          "the leader \(server.url) does not answer yet: \(LibraryNames.replaced(in: "\(error)"))"))
    }
    try Following.begin(directory, leader: server.url)
  }
}
