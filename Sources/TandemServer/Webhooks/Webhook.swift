internal import TandemDigests
package import TandemRecords

/// An address that gets the commits of all spaces after they are durable.
package struct Webhook: Sendable {
  /// The bounds of deliveries.
  package struct Limits: Hashable, Sendable {
    /// The number of attempts after which a delivery is a dead letter.
    package var maxAttemptCount = 20
    /// The number of dead letters beyond which none is made: then a delivery that would be one is tried again, and its
    /// space waits.
    package var maxLetterCount = 10_000
    /// The maximum number of requests at a time, for one space each.
    package var maxRequestCount = 8
    /// The time in which a request has to be answered.
    package var maxRequestTime = Duration.seconds(10)
    /// The pauses between attempts.
    package var backoff = Backoff(max: .seconds(600))
    /// The time between two looks at all spaces. Commits through this server are delivered at once.
    package var pause = Duration.seconds(2)
    /// The time after which another node delivers if this one has ended without a word. Longer than a request.
    package var lease = Duration.seconds(30)

    /// The usual limits. Twenty attempts take about an hour and a half.
    package init() {}
  }

  /// A request with a delivery.
  package struct Request: Sendable {
    package let body: [UInt8]
    /// The fields of the header, beside those that any POST has.
    package let fields: [(name: String, value: String)]
  }

  /// The bounds of the length of a secret, in bytes.
  package static let minSecretByteCount = 16
  package static let maxSecretByteCount = 4_096

  private let secret: [UInt8]?
  private let now: @Sendable () -> Double

  /// A webhook.
  ///
  /// - Parameters:
  ///   - secret: The key of the signatures; `nil` for deliveries without one.
  ///   - now: The present, in seconds since 1970.
  package init(secret: [UInt8]?, now: @escaping @Sendable () -> Double = WallClock.seconds) {
    self.secret = secret
    self.now = now
  }

  /// The present, in seconds since 1970.
  var time: Int { Int(now()) }

  /// The request with a body, signed now.
  func request(_ body: [UInt8]) -> Request {
    var fields = [(name: "Content-Type", value: "application/json")]
    if let secret {
      let time = "\(time)"
      let signature = SHA256Digest(of: Array("\(time).".utf8) + body, key: secret)
      fields.append((Self.signatureField, "t=\(time),v1=\(signature)"))
    }
    return Request(body: body, fields: fields)
  }

  /// The field of the header with the time and the signature.
  package static let signatureField = "Tandem-Signature"
}

extension CommittedChanges {
  /// The body of a delivery.
  var body: [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.field("space", space)
      json.field("from") { json in
        if let from { json.write(from) } else { json.writeNull() }
      }
      json.field("revision", revision)
      json.field("complete", isComplete)
      json.field("changes", states)
    }
    return json.bytes
  }
}
