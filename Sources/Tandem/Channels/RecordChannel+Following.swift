extension ChannelHub {
  /// Sends what a live query delivers, from the rows there are to every later change, by this process
  /// or another, until the task is cancelled.
  ///
  /// ```swift
  /// let users = RecordChannel<User>(id: "id").column("name", to: \.name)
  /// try await hub.follow(LiveQuery(table: "user"), in: database, by: users)
  /// ```
  ///
  /// What one difference says is one batch: all bound objects have all values of a commit before
  /// anybody is told of one. Rows are read and converted outside of the hub's actor, to which each
  /// batch takes one hop. Objects that are bound later start with the values there are if the hub
  /// remembers as many (``ChannelLimits/maxRememberedValueCount``).
  ///
  /// Must be called where the hub lives, which has to be an actor; elsewhere use
  /// ``ChannelSender/follow(_:in:by:)``.
  ///
  /// - Throws: ``RecordChannelError`` for a row that does not fit; what the query throws. Nothing of the
  ///   difference has been sent then, and nothing more will be.
  public func follow<Subject>(
    _ query: LiveQuery<Record>, in database: Database, by channel: RecordChannel<Subject>,
    isolation: isolated any Actor = #isolation
  ) async throws {
    try await sender().follow(query, in: database, by: channel)
  }
}

extension ChannelSender {
  /// Sends what a live query delivers to the hub, from anywhere, until the task is cancelled; see
  /// ``ChannelHub/follow(_:in:by:isolation:)``.
  public func follow<Subject>(
    _ query: LiveQuery<Record>, in database: Database, by channel: RecordChannel<Subject>
  ) async throws {
    for try await difference in query.differences(in: database) {
      await send(try channel.batch(for: difference))
    }
  }
}
