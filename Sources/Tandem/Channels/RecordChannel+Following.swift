extension ChannelHub {
  /// Sends the rows of a live query and all later changes, of this process or another, until the task is cancelled.
  ///
  /// <!-- Snippets/CodeInComments.swift following -->
  /// ```swift
  /// let users = RecordChannel<User>(id: "id").column("name", to: \.name).column("age", to: \.age)
  /// try await hub.follow(LiveQuery(table: "user"), in: database, by: users)  // until cancelled
  /// ```
  ///
  /// Each difference is one batch: all bound objects have all values of a commit before any hook or subscriber is
  /// notified of one. Rows are read and converted outside the hub's actor; each batch takes one hop to it. Objects
  /// that are bound later get the current values, as many as the hub remembers
  /// (``/TandemChannels/ChannelLimits/maxRememberedValueCount``).
  ///
  /// Must be called where the hub lives, which has to be an actor; elsewhere use
  /// ``ChannelSender/follow(_:in:by:)``.
  ///
  /// - Throws: ``RecordChannelError`` for a row that cannot be converted; the error of the query. No value of this
  ///   difference or of later ones is sent then.
  public func follow<Subject>(
    _ query: LiveQuery<Record>, in database: Database, by channel: RecordChannel<Subject>,
    isolation: isolated any Actor = #isolation
  ) async throws {
    try await sender().follow(query, in: database, by: channel)
  }
}

extension ChannelSender {
  /// Sends the rows of a live query and all later changes to the hub, until the task is cancelled; see
  /// ``ChannelHub/follow(_:in:by:isolation:)``.
  public func follow<Subject>(
    _ query: LiveQuery<Record>, in database: Database, by channel: RecordChannel<Subject>
  ) async throws {
    for try await difference in query.differences(in: database) {
      await sendChanges(try channel.batch(for: difference))
    }
  }
}
