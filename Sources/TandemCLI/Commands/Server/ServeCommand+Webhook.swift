import Tandem
import TandemPostgreSQL
import TandemServer

/// The options of `tandem serve` for a program that gets all commits.
extension ServeCommand {
  enum WebhookOption {
    static let url = ValueOption<String>(
      "webhook", "URL",
      help: """
        After commits, POST their changes to this URL: at least
        once, in order per space. See Operations.md, and tandem
        webhook for the deliveries that were given up.
        """)
    static let secret = ValueOption<String>(
      "webhook-secret-file", "FILE",
      help: """
        Sign the requests with the text in this file, by HMAC with
        SHA-256, in the field Tandem-Signature.
        """)
    static let attempts = ValueOption(
      "webhook-attempts", in: 1...1_000,
      help:
        "Give up a delivery after so many attempts, with growing\npauses (default: 20, in an hour and a half)."
    )
    static let all: [any CommandOption] = [url, secret, attempts]
  }

  /// What sends requests to a webhook.
  struct WebhookSender: Sendable {
    let webhook: Webhook
    let limits: Webhook.Limits
    let send: WebhookDelivery.Sending
  }

  /// The webhook of the options; `nil` if there is none.
  static func webhook(_ arguments: ParsedArguments) throws -> WebhookSender? {
    try webhook(arguments, secret: webhookSecret(arguments))
  }

  /// The secret of the webhook; `nil` for none.
  static func webhookSecret(_ arguments: ParsedArguments) throws -> [UInt8]? {
    guard arguments.has(WebhookOption.url), let path = arguments[WebhookOption.secret] else {
      return nil
    }
    var bytes = try FileBytes.read(path, maxByteCount: Webhook.maxSecretByteCount, .webhook)
    while let last = bytes.last, [0x0A, 0x0D].contains(last) { bytes.removeLast() }
    guard bytes.count >= Webhook.minSecretByteCount else {
      throw arguments.error(
        "the secret in \(path) has fewer than \(Webhook.minSecretByteCount) bytes: write a random one, as by "
          + "openssl rand -hex 32")
    }
    return bytes
  }

  /// A warning about a webhook without a secret; `nil` if there is none.
  static func webhookWarning(_ arguments: ParsedArguments) -> String? {
    guard arguments.has(WebhookOption.url), !arguments.has(WebhookOption.secret) else { return nil }
    return
      "without --webhook-secret-file, the requests to the webhook are not signed: its program cannot tell them from "
      + "those of others"
  }

  /// The webhook of the options with a secret; `nil` if there is none.
  static func webhook(
    _ arguments: ParsedArguments, secret: [UInt8]?
  ) throws -> WebhookSender? {
    guard let url = arguments[WebhookOption.url] else {
      try arguments.checkAbsent(WebhookOption.all, "belongs to --webhook")
      return nil
    }
    guard ["http", "https"].contains(url.prefix { $0 != ":" }.lowercased()) else {
      throw arguments.error("--webhook takes a URL with https or http")
    }
    guard url.prefix(while: { $0 != ":" }).lowercased() == "https" || isLoopback(url) else {
      throw arguments.error(
        "--webhook takes a URL with https: whoever sees the network reads all records")
    }
    var limits = Webhook.Limits()
    limits.maxAttemptCount = arguments[WebhookOption.attempts] ?? limits.maxAttemptCount
    let client = try SystemHTTPClient(
      options: HTTPClientOptions(timeouts: HTTPTimeouts(total: limits.maxRequestTime)))
    // An address that cannot be used is noticed at the start.
    _ = try HTTPURL.validated(url)
    return WebhookSender(webhook: Webhook(secret: secret), limits: limits) { request in
      var fields = HTTPFields()
      for (name, value) in request.fields { fields[name] = value }
      let stream = try await client.stream(
        HTTPRequest(.post, url: url, fields: fields, body: request.body))
      // It says nothing, but the connection can be used again at its end.
      _ = try? await stream.body.collected(maxByteCount: 64 << 10)
      return stream.head.status
    }
  }

  /// The deliveries to a webhook, and the function that closes their store.
  static func delivery(
    by sender: WebhookSender, of spaces: any ServedSpaces, following: Following?,
    _ arguments: ParsedArguments, _ log: @escaping @Sendable (ServerEvent) -> Void
  ) async throws -> (delivery: WebhookDelivery, close: @Sendable () async -> Void) {
    let store: any WebhookStore
    let close: @Sendable () async -> Void
    if let spaces = spaces as? PostgreSQLSpaces {
      store = try await PostgreSQLWebhooks(spaces.database, creates: true)
      close = {}
    } else {
      let file = try await WebhookFile(
        path: WebhookFile.path(in: arguments[Option.data] ?? defaultDirectory), creates: true)
      store = file
      close = { await file.close() }
    }
    let delivery = WebhookDelivery(
      sender.webhook, of: spaces, keptIn: store, limits: sender.limits, following: following,
      log: log, sending: sender.send)
    try await delivery.prepare()
    return (delivery, close)
  }
}
