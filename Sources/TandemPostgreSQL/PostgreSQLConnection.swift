internal import SystemLibrary
internal import TandemRecords

/// A statement with its parameters.
struct PostgreSQLQuery {
  /// The text, which names the prepared statement as well.
  let text: String
  let parameters: [PostgreSQLParameter]

  init(_ text: String, _ parameters: [PostgreSQLParameter] = []) {
    self.text = text
    self.parameters = parameters
  }
}

/// A connection to a PostgreSQL server. One thread uses it at a time, and waits in it.
///
/// All statements of an exchange are sent before the first answer is read (pipeline mode): an exchange takes one round
/// trip, however many statements it has. Each text is prepared once, unless there is a pooler.
final class PostgreSQLConnection {
  /// The times after which waiting ends.
  enum Timeout {
    /// For reaching the server, in seconds. The address may set another `connect_timeout`.
    static let connect = 10
    /// For one statement on the server, in seconds.
    static let statement = 30
    /// For a lock, as of a space that another node writes to, in seconds.
    static let lock = 10
    /// After which the server ends a transaction of a node that stopped in it, in seconds.
    static let idleTransaction = 60
    /// Without a byte from the server, in milliseconds: longer than a statement may take.
    static let silence: Int32 = 45_000
  }

  private let library: PostgreSQLLibrary
  private let handle: OpaquePointer
  /// The names of the statements that are prepared.
  private var names: [String: String] = [:]
  private var nameCount = 0
  /// True if a pooler as pgbouncer is between, which may give each transaction another connection of its own: no
  /// prepared statement, no setting and no LISTEN outlasts a transaction. It is taken for granted until it is known.
  private(set) var isPooled = true
  /// The number of round trips.
  private(set) var exchangeCount = 0
  /// True once the connection cannot be used any more.
  private(set) var isLost = false

  /// Connects with a server.
  ///
  /// - Parameter address: A connection string of libpq, or `postgresql://…`.
  init(address: String) throws(PostgreSQLError) {
    library = try PostgreSQLLibrary.load()
    // What follows the address replaces its parameters; what precedes it is the default for them.
    let parameters = [
      ("connect_timeout", "\(Timeout.connect)"), ("keepalives_idle", "30"),
      ("keepalives_interval", "10"), ("keepalives_count", "3"), ("tcp_user_timeout", "30000"),
      ("target_session_attrs", "read-write"), ("fallback_application_name", "tandem"),
      ("dbname", address), ("client_encoding", "UTF8"),
    ]
    let texts = parameters.flatMap { [strdup($0.0), strdup($0.1)] }
    defer { texts.forEach { free($0) } }
    let words = texts.map { UnsafePointer<CChar>($0) }
    let keywords = stride(from: 0, to: words.count, by: 2).map { words[$0] } + [nil]
    let values = stride(from: 1, to: words.count, by: 2).map { words[$0] } + [nil]
    guard let handle = library.connectdbParams(keywords, values, 1) else {
      throw PostgreSQLError(.connection, "there is no memory for a connection")
    }
    self.handle = handle
    guard library.status(handle) == 0 else {
      let message = PostgreSQLConnection.line(library.errorMessage(handle))
      throw PostgreSQLError(.connection, message + PostgreSQLConnection.remedy(of: message))
    }
    // Notices would go to the standard error.
    _ = library.setNoticeProcessor(handle, { _, _ in }, nil)
    guard library.setnonblocking(handle, 1) == 0, library.enterPipelineMode(handle) == 1 else {
      throw lost()
    }
    try prepareSession()
  }

  deinit { library.finish(handle) }

  /// The socket, to wait for messages of the server.
  var socket: Int32 { library.socket(handle) }

  private func prepareSession() throws(PostgreSQLError) {
    let query = PostgreSQLQuery(
      "SELECT current_setting('server_encoding'), pg_backend_pid()::bigint")
    let row = try exchange([query])[0].first ?? []
    guard row.first?.textValue == "UTF8" else {
      throw PostgreSQLError(
        .schema, "the database must have the encoding UTF8; create another one: createdb -E UTF8")
    }
    // A pooler has told a number of its own.
    isPooled = row.last != .integer(Int64(library.backendPID(handle)))
    if !isPooled { try exchange([settings(isLocal: false)]) }
  }

  /// Sets time-outs, and that a commit is acknowledged when it is durable, also on synchronous standbys, whatever the
  /// server does for others.
  ///
  /// - Parameter isLocal: True until the end of the transaction, false until that of the connection.
  private func settings(isLocal: Bool) -> PostgreSQLQuery {
    PostgreSQLQuery(
      """
      SELECT set_config('statement_timeout', '\(Timeout.statement)s', \(isLocal)),
        set_config('lock_timeout', '\(Timeout.lock)s', \(isLocal)),
        set_config('idle_in_transaction_session_timeout', '\(Timeout.idleTransaction)s', \(isLocal)),
        set_config('synchronous_commit', CASE current_setting('synchronous_commit')
          WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, \(isLocal))
      """)
  }

  /// The statements that begin a transaction.
  func begin(_ mode: String) -> [PostgreSQLQuery] {
    [PostgreSQLQuery("BEGIN ISOLATION LEVEL \(mode)")]
      + (isPooled ? [settings(isLocal: true)] : [])
  }

  private static func line(_ text: UnsafePointer<CChar>) -> String {
    String(cString: text).split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  /// What to do about a connection that was refused, for reasons of which libpq does not say it.
  private static func remedy(of reason: String) -> String {
    if reason.contains("no password supplied") {
      return "; put the password into the file ~/.pgpass, or into one that PGPASSFILE names"
    }
    if reason.contains("session is read-only") {
      return
        "; this is a standby, or its role may only read: give the addresses of all servers of the database"
    }
    return ""
  }

  /// Marks the connection as lost.
  private func lost(_ reason: String? = nil) -> PostgreSQLError {
    isLost = true
    let message = PostgreSQLConnection.line(library.errorMessage(handle))
    return PostgreSQLError(
      .lost, reason ?? (message.isEmpty ? "the connection has ended" : message))
  }
}

// MARK: - Exchanges

extension PostgreSQLConnection {
  /// Runs statements in order and returns the rows of each.
  ///
  /// - Throws: The error of the first one that fails; those behind it are not run then.
  @discardableResult
  func exchange(_ queries: [PostgreSQLQuery]) throws(PostgreSQLError) -> [[[FieldValue]]] {
    guard !isLost else { throw lost() }
    exchangeCount += 1
    // A statement that is prepared has an answer of its own.
    var prepares: [String?] = []
    for query in queries {
      if !isPooled, names[query.text] == nil {
        nameCount += 1
        let name = "tandem\(nameCount)"
        names[query.text] = name
        guard library.sendPrepare(handle, name, query.text, 0, nil) == 1 else { throw lost() }
        prepares.append(query.text)
      }
      try send(query)
      prepares.append(nil)
    }
    guard library.pipelineSync(handle) == 1 else { throw lost() }
    try flush()
    var rows: [[[FieldValue]]] = []
    var failure: PostgreSQLError?
    for text in prepares {
      switch try nextAnswer() {
      case .success(let answer): if text == nil { rows.append(answer) }
      case .failure(let error):
        failure = failure ?? error
        // It has not been prepared, whether it or one before it failed.
        if let text { names[text] = nil }
      }
    }
    try endPipeline()
    if let failure { throw failure }
    return rows
  }

  /// Begins a transaction with statements, and rolls it back if it fails.
  ///
  /// - Parameter body: Gets the rows of each statement, and ends the transaction.
  func transaction<Value>(
    _ queries: [PostgreSQLQuery], _ body: ([[[FieldValue]]]) throws -> Value
  ) throws -> Value {
    do {
      let rows = try exchange(begin("READ COMMITTED READ WRITE") + queries)
      return try body(Array(rows.suffix(queries.count)))
    } catch {
      _ = try? exchange([PostgreSQLQuery("ROLLBACK")])
      throw error
    }
  }

  private func send(_ query: PostgreSQLQuery) throws(PostgreSQLError) {
    let values = PostgreSQLParameter.Encoding(query.parameters)
    let isSent = values.bytes.withUnsafeBytes { buffer in
      let pointers = values.ranges.map { range in
        range.map {
          UnsafePointer((buffer.baseAddress! + $0.lowerBound).assumingMemoryBound(to: CChar.self))
        }
      }
      let lengths = values.ranges.map { Int32($0?.count ?? 0) }
      let formats = [Int32](repeating: 1, count: lengths.count)
      let count = Int32(lengths.count)
      return names[query.text].map {
        library.sendQueryPrepared(handle, $0, count, pointers, lengths, formats, 1)
      } ?? library.sendQueryParams(handle, query.text, count, nil, pointers, lengths, formats, 1)
    }
    guard isSent == 1 else { throw lost() }
  }

  /// Sends what waits in memory. What arrives meanwhile is read: the server stops reading while nobody reads from it.
  private func flush() throws(PostgreSQLError) {
    while true {
      switch library.flush(handle) {
      case 0: return
      case 1:
        let events = try wait(for: Int16(POLLIN | POLLOUT))
        if events & Int16(POLLIN) != 0, library.consumeInput(handle) != 1 { throw lost() }
      default: throw lost()
      }
    }
  }

  private func wait(for events: Int16) throws(PostgreSQLError) -> Int16 {
    var file = pollfd(fd: library.socket(handle), events: events, revents: 0)
    while true {
      let count = poll(&file, 1, Timeout.silence)
      if count > 0 { return file.revents }
      if count < 0, errno == EINTR { continue }
      throw lost("the server has not answered for \(Timeout.silence / 1_000) s")
    }
  }

  private func nextResult() throws(PostgreSQLError) -> OpaquePointer? {
    while library.isBusy(handle) != 0 {
      _ = try wait(for: Int16(POLLIN))
      guard library.consumeInput(handle) == 1 else { throw lost() }
    }
    return library.getResult(handle)
  }

  private enum Status {
    static let commandOK: Int32 = 1
    static let tuplesOK: Int32 = 2
    static let pipelineSync: Int32 = 10
    static let pipelineAborted: Int32 = 11
  }

  /// The answer to the next statement.
  private func nextAnswer() throws(PostgreSQLError) -> Result<[[FieldValue]], PostgreSQLError> {
    guard let result = try nextResult() else { throw lost() }
    defer { library.clear(result) }
    let answer: Result<[[FieldValue]], PostgreSQLError>
    switch library.resultStatus(result) {
    case Status.commandOK:
      // A transaction in which a statement failed answers COMMIT by ROLLBACK.
      let command = String(cString: library.cmdStatus(result))
      answer = .success([[.text(command)]])
    case Status.tuplesOK: answer = .success(try rows(result))
    case Status.pipelineAborted:
      answer = .failure(PostgreSQLError(.statement("25P02"), "a statement before it failed"))
    default:
      guard library.status(handle) == 0 else { throw lost() }
      // Other fields may contain values of records.
      let state = field("C", of: result)
      let message = field("M", of: result)
      answer = .failure(PostgreSQLError(.statement(state), "\(message) (\(state))"))
    }
    guard try nextResult() == nil else { throw lost("the answer of the server is not understood") }
    return answer
  }

  private func field(_ name: UnicodeScalar, of result: OpaquePointer) -> String {
    library.resultErrorField(result, Int32(name.value)).map { PostgreSQLConnection.line($0) } ?? ""
  }

  private func endPipeline() throws(PostgreSQLError) {
    guard let result = try nextResult() else { throw lost() }
    defer { library.clear(result) }
    guard library.resultStatus(result) == Status.pipelineSync else {
      throw lost("the answer of the server is not understood")
    }
  }

  private func rows(_ result: OpaquePointer) throws(PostgreSQLError) -> [[FieldValue]] {
    let columns = 0..<library.nfields(result)
    let types = columns.map { library.ftype(result, $0) }
    var rows: [[FieldValue]] = []
    for row in 0..<library.ntuples(result) {
      var values: [FieldValue] = []
      for column in columns {
        guard library.getisnull(result, row, column) == 0 else {
          values.append(.null)
          continue
        }
        let bytes = UnsafeRawBufferPointer(
          start: library.getvalue(result, row, column),
          count: Int(library.getlength(result, row, column)))
        guard let value = FieldValue(bytes, ofType: types[Int(column)]) else {
          // Answers that follow are not read.
          isLost = true
          throw PostgreSQLError(
            .schema, "a column has another type than Tandem gave it (\(types[Int(column)]))")
        }
        values.append(value)
      }
      rows.append(values)
    }
    return rows
  }
}

// MARK: - Notifications

extension PostgreSQLConnection {
  /// The payloads of the notifications that have arrived.
  func notifications() throws(PostgreSQLError) -> [String] {
    guard !isLost, library.consumeInput(handle) == 1 else { throw lost() }
    var payloads: [String] = []
    while let notification = library.notifies(handle) {
      // The name of the channel, the number of the process, and the payload.
      let payload = notification.load(
        fromByteOffset: 2 * MemoryLayout<UnsafePointer<CChar>>.stride,
        as: UnsafePointer<CChar>?.self)
      if let payload { payloads.append(String(cString: payload)) }
      library.freemem(notification)
    }
    return payloads
  }
}

// MARK: - Addresses

extension PostgreSQLConnection {
  /// Throws if an address cannot be read, or has a password, unless that is allowed.
  static func check(address: String, allowsPassword: Bool) throws(PostgreSQLError) {
    let library = try PostgreSQLLibrary.load()
    var message: UnsafeMutablePointer<CChar>?
    guard let options = library.conninfoParse(address, &message) else {
      defer { library.freemem(message) }
      var reason = message.map { line(UnsafePointer($0)) } ?? "there is no memory"
      // Some messages quote the address, which may have a password.
      if reason.contains(address) { reason = "libpq cannot read it" }
      throw PostgreSQLError(.address, "the address cannot be used: \(reason)")
    }
    defer { library.conninfoFree(options) }
    guard !allowsPassword else { return }
    // Keyword, name in the environment, default, value, label, characters of the field, and its size.
    let stride = 7 * MemoryLayout<UnsafePointer<CChar>>.stride
    var option = options
    while let keyword = option.load(as: UnsafePointer<CChar>?.self) {
      let value = option.load(
        fromByteOffset: 3 * MemoryLayout<UnsafePointer<CChar>>.stride,
        as: UnsafePointer<CChar>?.self)
      if String(cString: keyword).hasSuffix("password"), let value, value.pointee != 0 {
        throw PostgreSQLError(
          .address,
          "a password in a command, or in a file that others may read, is visible to other users of this machine; "
            + "put it into the file ~/.pgpass, or into one that PGPASSFILE names, readable by its owner only"
        )
      }
      option += stride
    }
  }
}
