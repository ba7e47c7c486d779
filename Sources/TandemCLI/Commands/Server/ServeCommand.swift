import Tandem
import TandemPostgreSQL
import TandemServer

/// `tandem serve`: serves spaces to other machines.
enum ServeCommand: Command {
  /// The options, each declared once.
  enum Option {
    static let config = ValueOption<String>(
      "config", "FILE",
      help: """
        A JSON object with values of these options, by their names
        without --, as {"tokens":"tokens","inspect":true}.
        """)
    static let checkConfig = Flag(
      "check-config",
      help: """
        Check the options, the files, the certificate, the address
        and the store, and print all faults. Serve nothing.
        """)
    static let data = ValueOption<String>(
      "data", "DIR",
      help:
        "The directory of the spaces, one file each; created if it\nis missing (default: tandem-data)."
    )
    static let store = ValueOption<String>(
      "store", "ADDRESS",
      help: """
        Keep the spaces in a PostgreSQL database instead: an
        address of libpq, as postgresql://USER@HOST/DATABASE or
        service=NAME. Several servers may use one database.
        """)
    static let directStore = ValueOption<String>(
      "direct-store", "ADDRESS",
      help: """
        The address of PostgreSQL itself, if --store is that of a
        pooler as pgbouncer: notifications do not pass it.
        """)
    static let maxStoreConnections = ValueOption(
      "max-store-connections", in: 1...1_000,
      help: """
        The maximum number of connections with the database
        (default: \(PostgreSQLDatabase.defaultConnectionCount)); one more is for notifications.
        """)
    static let createStore = Flag(
      "create-store", help: "Create the schema tandem in the database if it is missing.")
    static let listen = ValueOption<ServerAddress>(
      "listen", "ADDR:PORT", takes: "HOST:PORT, such as 0.0.0.0:7420 or [::]:7420",
      help: "The address. Port 0 picks a free one\n(default: 127.0.0.1:7420)."
    ) { ServerAddress($0) }
    static let tokens = ValueOption<String>(
      "tokens", "FILE",
      help:
        """
        The access tokens, made by tandem token. The file is read
        again when it changes. With --store, the default is the
        tokens in the database: tandem token --store.
        """)
    static let certificate = ValueOption<String>(
      "tls-cert", "FILE", help: "Serve over TLS: the certificate and its chain, in PEM.")
    static let key = ValueOption<String>(
      "tls-key", "FILE", help: "The key of the certificate, in PEM, without a passphrase.")
    static let inspect = Flag(
      "inspect",
      help: """
        Serve a page for operators, URL/inspect: spaces, replicas,
        commits, conflicts, metrics; no fields of records. With
        --tokens it needs a token of: tandem token create --inspect
        or, to change members, tokens and names, --admin
        """)
    static let log = ValueOption<ServerLog.Form>(
      "log", "FORM",
      help: """
        Write the log to standard error as text or json (default:
        text): one line for each event, with address, account,
        space, status, reason, duration or milliseconds, bytes.
        """)
    static let logLevel = ValueOption<ServerLog.Threshold>(
      "log-level", "LEVEL",
      help: """
        Log warning: refused access, limits and errors; notice:
        also other refused requests, start and stop (default); or
        info: also all other requests.
        """)
    static let json = Flag(
      "json",
      help: """
        Print one JSON object per line:
        {"event":"listening","url":"http://127.0.0.1:PORT"}
        {"event":"reloaded"} after a SIGHUP, if all was read
        {"event":"stopped"}
        """)
    static let maxConnections = ValueOption(
      "max-connections", in: 1...1_000_000,
      help: "The maximum number of open connections\n(default: 10000).")
    static let maxAddressConnections = ValueOption(
      "max-address-connections", in: 1...1_000_000,
      help: "The maximum number of open connections of one address\n(default: 5000).")
    static let maxHeader = ValueOption.byteCount(
      "max-header", atLeast: 512,
      help:
        "The memory for each connection: the header of a request\nmust fit (default: 8k, at least 512 bytes)."
    )
    static let maxRequests = ValueOption(
      "max-requests", in: 1...1_000_000,
      help: "The maximum number of requests at a time (default: 1000).")
    static let maxTokenRequests = ValueOption(
      "max-token-requests", in: 1...1_000_000,
      help: "The maximum number of requests of one access token at a\ntime (default: 256).")
    static let maxTokenStreams = ValueOption(
      "max-token-streams", in: 1...1_000_000,
      help: "The maximum number of event streams of one access token\n(default: 4000).")
    static let maxTokenSpaces = ValueOption(
      "max-token-spaces", in: 1...1_000_000,
      help:
        "The maximum number of spaces that one access token\nfollows at a time (default: 1000).")
    static let rate = ValueOption(
      "rate", in: 1...1_000_000,
      help:
        "The maximum number of requests in a second of each\naccount and of each address, on average over 10 seconds."
    )
    static let maxFailures = ValueOption(
      "max-failures", in: 1...1_000_000,
      help: """
        Ban an address (IPv6: its /64) after so many wrong access
        tokens. Behind a proxy, name it by --trusted-proxies.
        """)
    static let trustedProxies = ValueOption<ProxyNetworks>(
      "trusted-proxies", "ADDRESS[,ADDRESS]",
      takes: "addresses or networks, such as 127.0.0.1,10.0.0.0/8,fd00::/8",
      help: """
        The proxies before the server, or their networks (IP/BITS):
        the clients' addresses are those that they append to
        X-Forwarded-For, for the log and the limits of addresses.
        """
    ) { ProxyNetworks($0) }
    static let banTime = ValueOption.seconds(
      "ban-time", help: "The duration of a ban (default: 600).")
    static let maxBodies = ValueOption.byteCount(
      "max-bodies",
      help: "The maximum length of the bodies of all requests at a\ntime (default: 256M).")
    static let maxAnswers = ValueOption.byteCount(
      "max-answers",
      help: "The maximum length of the answers that are being sent\n(default: 256M).")
    static let maxSpaces = ValueOption(
      "max-spaces", in: 1...10_000_000,
      help: "The number of spaces beyond which none is created\n(default: 10000).")
    static let maxAccountSpaces = ValueOption(
      "max-account-spaces", in: 1...10_000_000,
      help: """
        The number of spaces that an account may create by its right
        to (default: any number).
        """)
    static let maxSpaceRecords = ValueOption(
      "max-space-records", in: 1...Int.max,
      help: """
        The quota of records of each space. A commit beyond it is
        refused, unless the space has no more records afterwards.
        """)
    static let maxSpaceBytes = ValueOption.byteCount(
      "max-space-bytes",
      help: """
        The quota of bytes of each space: of the values of its
        records, without history and indexes.
        """)
    static let maxOpenSpaces = ValueOption(
      "max-open-spaces", in: 1...100_000,
      help:
        "The maximum number of open spaces (default: one for each\n40 files that the system allows, at most 1000)."
    )
    static let idleTime = ValueOption.seconds(
      "idle-time",
      help: "Close a connection that sends no complete header for so\nlong (default: 60).")
    static let heartbeat = ValueOption.seconds(
      "heartbeat",
      help: "The time between two heartbeats of an event stream\n(default: 15).")
  }

  static let specification = CommandSpecification(
    name: "serve",
    summary: "Serve spaces over HTTP to many devices.",
    discussion: """
      Serves the spaces of a directory. Replicas attach with tandem attach --server URL --space S.
      A space is created by the first one that attaches.

      Without access tokens, the server listens on loopback only: each program of this machine may read
      and change all spaces. With --tokens, each request needs an access token, and with --store from
      when the database got its first one (tandem token create --store). Use --tls-cert and
      --tls-key, or a proxy with TLS, wherever tokens travel through a network.

      It prints one line with its address when it listens, and serves until SIGINT or SIGTERM. Then
      it answers the requests under way and ends with status 0. The log says why it stops. SIGHUP reads the certificate, the key
      and the access tokens again, unless the terminal of the server has closed: then it ends. The
      server notifies systemd (Type=notify, WatchdogSec=).

      With --store, the spaces are tables of a PostgreSQL database, and any number of servers serve
      them: each sees the commits of the others at once. A password comes from ~/.pgpass or the file
      that PGPASSFILE names. All servers accept the access tokens of the database. tandem log, tandem
      forget and tandem space take --store, too. It needs the library libpq.

      With --follow URL, the server keeps copies of the spaces of that server up to date, and takes no
      requests for them: it is ready to take its place by tandem promote.

      Every option but --check-config may be a variable instead: TANDEM_SERVE_TLS_KEY for --tls-key, with
      true or false for an option without a value. The command line comes first, then the variables,
      then the file of --config, then the default. A password may be in the address of --store only in
      a variable, or in a file that only its owner can read (chmod 600).

      With --webhook, the changes of each commit are sent to a program of yours after they are durable, signed
      with the secret. Of several servers of a database, one at a time sends them.

      One server at a time serves a directory. /metrics has counts for Prometheus, /healthz is for
      load balancers, and /v1/openapi.json describes all requests.
      """,
    exitStatus: "0 stopped by a signal, or no faults, 1 failure, 2 wrong usage.",
    operands: [],
    options: [
      Option.config, Option.checkConfig, Option.data, Option.store, Option.directStore,
      Option.createStore, Option.maxStoreConnections,
      FollowOption.follow, FollowOption.tokenFile, FollowOption.cacert, FollowOption.insecureHTTP,
      Option.listen, Option.tokens, WebTokenOption.keys, WebTokenOption.issuer,
      WebTokenOption.audience, WebTokenOption.algorithms, WebTokenOption.claim,
      WebhookOption.url, WebhookOption.secret, WebhookOption.attempts,
      Option.certificate, Option.key, Option.inspect, Option.log, Option.logLevel,
      Option.json, Option.maxConnections, Option.maxAddressConnections, Option.maxHeader,
      Option.maxRequests, Option.maxTokenRequests, Option.maxTokenStreams,
      Option.maxTokenSpaces, Option.rate, Option.maxFailures, Option.banTime,
      Option.trustedProxies, Option.maxBodies, Option.maxAnswers, Option.maxSpaces,
      Option.maxAccountSpaces, Option.maxSpaceRecords, Option.maxSpaceBytes, Option.maxOpenSpaces,
      Option.idleTime,
      Option.heartbeat,
    ],
    examples: [
      "tandem serve --data spaces",
      "tandem serve --data spaces --listen 0.0.0.0:7420 --tokens tokens "
        + "--tls-cert cert.pem --tls-key key.pem",
      "tandem serve --data spaces --tokens tokens --inspect",
      "tandem serve --config /etc/tandem/serve.json --check-config",
      "tandem serve --data spaces --jwt-keys https://id.example/keys --jwt-issuer https://id.example/ "
        + "--jwt-audience tandem",
      "tandem serve --data spaces --webhook https://app.example/tandem --webhook-secret-file secret",
      "tandem serve --store postgresql://tandem@db.example/spaces --create-store",
      "tandem serve --data copies --follow https://tandem.example.org --token-file follow-token "
        + "--tokens tokens",
    ])

  static func run(_ given: ParsedArguments) async throws -> Int32 {
    // Other users may not read spaces, members and deliveries.
    umask(0o077)
    var arguments = given
    let faults = arguments.addSettings(fileOption: Option.config, besides: [Option.checkConfig])
    if arguments[Option.checkConfig] { return try await check(arguments, faults: faults) }
    guard faults.isEmpty else { throw arguments.error(faults.joined(separator: "\n")) }
    return try await serve(arguments)
  }

  private static func serve(_ arguments: ParsedArguments) async throws -> Int32 {
    let log = ServerLog(
      ServerLogFormat(arguments[Option.log] ?? .text),
      level: (arguments[Option.logLevel] ?? .notice).level)
    defer { log.flush() }
    do {
      try await serve(arguments) { log.add($0) }
      return ExitStatus.success
    } catch let error as UsageError {
      throw error
    } catch {
      log.add(ServerEvent(.error, "the server stops: \(error)"))
      return failureStatus
    }
  }

  private static func serve(
    _ arguments: ParsedArguments, _ log: @escaping @Sendable (ServerEvent) -> Void
  ) async throws {
    let warn = { @Sendable (text: String) in log(ServerEvent(.warning, text)) }
    let identity = try identity(arguments)
    let webhook = try webhook(arguments)
    let file = try arguments[Option.tokens].map { path in try TokenFile(path: path, log: warn) }
    let directory = arguments[Option.data] ?? defaultDirectory
    let server = try followedServer(arguments)
    let follows = try arguments[Option.store] == nil && checkFollows(directory, server)
    let following = follows ? server.map { Following(leader: $0.url, in: directory) } : nil
    let metrics = ServerMetrics(version: PackageVersion.current, following: following)
    let limits = serviceLimits(arguments)
    let spaces = try await spaces(arguments, limits.messages, metrics, warn)
    var follower: Follower?
    if let server, let following, let copies = spaces as? SpaceDirectory {
      try await begin(server, in: directory, log)
      follower = Follower(
        server: server, spaces: copies, path: directory, following: following,
        maxSpaceCount: arguments[Option.maxSpaces] ?? SpaceDirectory.defaultSpaceCount, log: log)
    } else if let server {
      warn(
        "\(directory) was promoted: it does not follow \(server.url) any more, so take `follow` out of the "
          + "configuration")
    }
    var tokens: (any ListedTokens)? = file
    if file == nil, let spaces = spaces as? PostgreSQLSpaces {
      tokens = try await PostgreSQLTokens(spaces.database, log: warn)
    }
    let webTokens = try await webTokens(
      arguments, hasOthers: tokens?.areRequired == true, log)
    let sources = ([tokens, webTokens] as [(any TokenSource)?]).compactMap { $0 }
    let isProtected = sources.contains { $0.areRequired }
    var delivery: (delivery: WebhookDelivery, close: @Sendable () async -> Void)?
    if let webhook {
      delivery = try await Self.delivery(
        by: webhook, of: spaces, following: following, arguments, log)
    }
    let webhookDelivery = delivery?.delivery
    if let webhookDelivery { metrics.add { webhookDelivery.gauges } }
    if let warning = webhookWarning(arguments) { warn(warning) }
    if let warning = identity?.warning { warn(warning) }
    let service = SyncService(
      spaces: spaces, tokens: sources.isEmpty ? nil : TokenSources(sources), limits: limits,
      following: following, metrics: metrics, log: log,
      onCommit: { webhookDelivery?.noteCommit(in: $0) })
    let address = arguments[Option.listen] ?? .usual
    let socket = try ListeningSocket(
      host: address.host, port: address.port, allowsOthers: isProtected)
    // From here on, a signal stops the server in order.
    let (signals, signal) = AsyncStream<Signal>.makeStream()
    let interruption = Interruption {
      signal.yield(.stop($0))
    } reload: {
      signal.yield(.reload)
    }
    defer { interruption.end() }
    let responder: any HTTPResponder =
      arguments[Option.inspect]
      ? Inspector(service, tokens: tokenPlace(arguments, spaces)) : service
    let httpServer = try HTTPServer(
      socket, identity: identity, limits: serverLimits(arguments),
      proxies: arguments[Option.trustedProxies] ?? ProxyNetworks(), metrics: metrics,
      responder: responder, log: log)
    if !isProtected {
      warn(
        "serving this machine only: without access tokens, each of its programs may read and change "
          + "all spaces")
    } else if identity == nil, !socket.isLoopback {
      warn(unencryptedWarning)
    }
    if arguments[Option.inspect] {
      log(
        ServerEvent(
          .notice, "inspect the spaces in a browser: \(httpServer.url)\(Inspector.path)"))
    }
    if following == nil, let spaces = spaces as? SpaceDirectory, try spaces.names().isEmpty {
      log(
        ServerEvent(
          .notice,
          "there are no spaces yet in \(directory); if it is the wrong directory, replicas meet a new history and stop"
        ))
    }
    log(ServerEvent(.notice, "tandem \(PackageVersion.current) serves on \(httpServer.url)"))
    try print("listening", url: httpServer.url, arguments)
    ServiceManager.notify("READY=1")
    await withDiscardingTaskGroup { group in
      group.addTask { await httpServer.run() }
      if let follower { group.addTask { await follower.run() } }
      group.addTask { await ServiceManager.notifyWatchdog() }
      if let webhookDelivery { group.addTask { await webhookDelivery.run() } }
      for await signal in signals {
        if case .stop(let number) = signal {
          log(ServerEvent(.notice, "the server stops after \(Interruption.name(of: number))"))
          break
        }
        ServiceManager.notifyReload()
        if await reload(httpServer, tokens, webTokens, arguments, log) {
          log(ServerEvent(.notice, "read the files again after SIGHUP"))
          try? print("reloaded", url: nil, arguments)
        }
        ServiceManager.notify("READY=1")
      }
      ServiceManager.notify("STOPPING=1")
      group.cancelAll()
    }
    await delivery?.close()
    await spaces.close()
    log(ServerEvent(.notice, "the server has stopped"))
    try print("stopped", url: nil, arguments)
  }

  static let unencryptedWarning =
    "without --tls-cert, access tokens travel unencrypted: put a proxy with TLS before this server"

  /// The spaces of a directory or of a database.
  private static func spaces(
    _ arguments: ParsedArguments, _ limits: SyncLimits, _ metrics: ServerMetrics,
    _ warn: @escaping @Sendable (String) -> Void
  ) async throws -> any ServedSpaces {
    let maxSpaceCount = arguments[Option.maxSpaces] ?? SpaceDirectory.defaultSpaceCount
    guard let address = try storeAddress(arguments) else {
      return try SpaceDirectory(
        path: arguments[Option.data] ?? defaultDirectory,
        maxOpenCount: arguments[Option.maxOpenSpaces] ?? SpaceDirectory.defaultOpenCount(),
        maxSpaceCount: maxSpaceCount, maxCreatedCount: arguments[Option.maxAccountSpaces],
        limits: limits, metrics: metrics)
    }
    let database = try await PostgreSQLDatabase.open(
      address: address, hintAddress: arguments[Option.directStore],
      creates: arguments[Option.createStore],
      maxConnectionCount: arguments[Option.maxStoreConnections]
        ?? PostgreSQLDatabase.defaultConnectionCount, log: warn)
    return PostgreSQLSpaces(
      database, maxSpaceCount: maxSpaceCount, maxCreatedCount: arguments[Option.maxAccountSpaces],
      limits: limits, metrics: metrics)
  }

  /// The address of the database; `nil` if the spaces are files.
  static func storeAddress(_ arguments: ParsedArguments) throws -> String? {
    guard let address = arguments[Option.store] else {
      guard !arguments[Option.createStore], arguments[Option.directStore] == nil,
        arguments[Option.maxStoreConnections] == nil
      else {
        throw arguments.error(
          "--create-store, --direct-store and --max-store-connections belong to --store")
      }
      return nil
    }
    guard arguments[Option.data] == nil, arguments[Option.maxOpenSpaces] == nil else {
      throw arguments.error(
        "--data and --max-open-spaces are for files: leave them out with --store")
    }
    for option in [Option.store, Option.directStore] {
      guard let address = arguments[option] else { continue }
      try PostgreSQLDatabase.check(address: address, allowsPassword: arguments.isSecret(option))
    }
    return address
  }

  /// The access tokens that an administrator may change.
  private static func tokenPlace(
    _ arguments: ParsedArguments, _ spaces: any ServedSpaces
  ) -> (any TokenPlace)? {
    if let path = arguments[Option.tokens] { return TokenFilePlace(name: path) }
    return (spaces as? PostgreSQLSpaces).map { TokenStorePlace(database: $0.database) }
  }

  private enum Signal {
    case reload
    /// The number of the system's signal.
    case stop(Int32)
  }

  /// Reads the certificate, the key and the tokens again. Reports what cannot be used; returns true if
  /// all can.
  private static func reload(
    _ server: HTTPServer, _ tokens: (any ListedTokens)?, _ webTokens: WebTokenSource?,
    _ arguments: ParsedArguments, _ log: (ServerEvent) -> Void
  ) async -> Bool {
    var isComplete = true
    func read(orElse consequence: String, _ body: () async throws -> Void) async {
      do { try await body() } catch {
        log(ServerEvent(.error, "\(error). \(consequence)"))
        isComplete = false
      }
    }
    await read(orElse: "The former certificate stays in use") {
      guard let identity = try identity(arguments) else { return }
      try server.renew(identity)
      if let warning = identity.warning { log(ServerEvent(.warning, warning)) }
    }
    await read(orElse: "Until it can be read, no token is accepted") {
      try await tokens?.reload()
    }
    await read(orElse: "The former keys of tokens stay in use") { try await webTokens?.reload() }
    return isComplete
  }

  /// The directory of the spaces, unless specified otherwise.
  static let defaultDirectory = "tandem-data"

  static func identity(_ arguments: ParsedArguments) throws -> HTTPServer.Identity? {
    switch (arguments[Option.certificate], arguments[Option.key]) {
    case (nil, nil): return nil
    case (let certificate?, let key?):
      return HTTPServer.Identity(
        certificate: try FileBytes.read(
          certificate, maxByteCount: HTTPServer.Identity.maxByteCount, .certificate),
        key: try FileBytes.read(key, maxByteCount: HTTPServer.Identity.maxByteCount, .certificate))
    case (_?, nil), (nil, _?):
      throw arguments.error("--tls-cert and --tls-key belong together: give both")
    }
  }

  private static func serviceLimits(_ arguments: ParsedArguments) -> SyncService.Limits {
    var limits = SyncService.Limits()
    limits.messages.maxSpaceRecordCount = arguments[Option.maxSpaceRecords]
    limits.messages.maxSpaceByteCount = arguments[Option.maxSpaceBytes]
    limits.maxTokenRequestCount =
      arguments[Option.maxTokenRequests] ?? limits.maxTokenRequestCount
    limits.maxTokenStreamCount = arguments[Option.maxTokenStreams] ?? limits.maxTokenStreamCount
    limits.maxTokenFollowedSpaceCount =
      arguments[Option.maxTokenSpaces] ?? limits.maxTokenFollowedSpaceCount
    limits.maxRequestRate = arguments[Option.rate]
    limits.maxFailureCount = arguments[Option.maxFailures]
    limits.banTime = arguments[Option.banTime] ?? limits.banTime
    limits.heartbeat = arguments[Option.heartbeat] ?? limits.heartbeat
    return limits
  }

  private static func serverLimits(_ arguments: ParsedArguments) -> HTTPServerLimits {
    var limits = HTTPServerLimits()
    limits.maxConnectionCount = arguments[Option.maxConnections] ?? limits.maxConnectionCount
    limits.maxAddressConnectionCount =
      arguments[Option.maxAddressConnections] ?? limits.maxAddressConnectionCount
    limits.connectionByteCount = arguments[Option.maxHeader] ?? limits.connectionByteCount
    limits.maxConcurrentRequestCount =
      arguments[Option.maxRequests] ?? limits.maxConcurrentRequestCount
    limits.maxTotalBodyByteCount = arguments[Option.maxBodies] ?? limits.maxTotalBodyByteCount
    limits.maxTotalAnswerByteCount =
      arguments[Option.maxAnswers] ?? limits.maxTotalAnswerByteCount
    limits.maxIdleTime = arguments[Option.idleTime] ?? limits.maxIdleTime
    return limits
  }

  private static func print(
    _ event: String, url: String?, _ arguments: ParsedArguments
  ) throws(OutputError) {
    do throws(OutputError) {
      if arguments[Option.json] {
        try OutputStream.printObject { json in
          json.field("event", event)
          if let url { json.field("url", url) }
        }
      } else if let url {
        try OutputStream.printLines(["\(event) on \(url)"])
      }
    } catch  where error.isBrokenPipe {
      // Whoever started the server does not read its address: it serves all the same.
    }
  }
}

/// A value of `--listen`.
struct ServerAddress: Sendable {
  let host: String
  let port: UInt16

  /// The address unless specified otherwise.
  static let usual = ServerAddress(host: "127.0.0.1", port: 7420)

  init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  init?(_ text: String) {
    guard case .tcp(let host, let port)? = SocketAddress(text) else { return nil }
    self.init(host: host, port: port)
  }
}
