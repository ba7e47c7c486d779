/// Converts changes of records, such as those of a live query, to values for channels: each updated column of a
/// record goes to the channel of the record's id.
///
/// <!-- Snippets/CodeInComments.swift following -->
/// ```swift
/// let users = RecordChannel<User>(id: "id").column("name", to: \.name).column("age", to: \.age)
/// try await hub.follow(LiveQuery(table: "user"), in: database, by: users)  // until cancelled
/// ```
///
/// Values are converted by ``/TandemSQLite/DatabaseValue``: exactly, or not at all. A value that
/// cannot be converted to its property's type is an error that names the record and the column.
public struct RecordChannel<Subject>: Sendable {
  private struct Column: Sendable {
    var name: String
    var add:
      @Sendable (FieldValue, Channel<Subject>, inout ChannelBatch) throws(RecordChannelError) ->
        Void
  }

  private let channel: @Sendable (Record) throws(RecordChannelError) -> Channel<Subject>
  private var columns: [Column] = []
  private var addPresence: (@Sendable (Bool, Channel<Subject>, inout ChannelBatch) -> Void)?

  /// A subject whose channels have the values of a column as ids, `Int`s by default: the record with the id 7 belongs
  /// to `Channel<Subject>(id: 7)`.
  public init<ID: DatabaseValue & Hashable & Sendable>(id column: String, as _: ID.Type = Int.self)
  {
    channel = { record throws(RecordChannelError) in
      Channel(id: try Self.value(in: record, column, as: ID.self))
    }
  }

  /// A subject whose channels have ids that a closure makes of the records.
  public init<ID: Hashable & Sendable>(idOf id: @escaping @Sendable (Record) -> ID) {
    channel = { record in Channel(id: id(record)) }
  }

  /// Also carries a column.
  public func column<Value: DatabaseValue & Sendable>(
    _ name: String, to property: any KeyPath<Subject, Value> & Sendable
  ) -> RecordChannel {
    adding(name) { value, channel, batch throws(RecordChannelError) in
      batch.set(property, to: try Self.converted(value, name, channel), on: channel)
    }
  }

  /// Also carries a column by a conversion. `nil` leaves the models unchanged.
  public func column<Value: Sendable>(
    _ name: String, to property: any KeyPath<Subject, Value> & Sendable,
    converting convert: @escaping @Sendable (FieldValue) -> Value?
  ) -> RecordChannel {
    adding(name) { value, channel, batch in
      if let value = convert(value) { batch.set(property, to: value, on: channel) }
    }
  }

  /// Also sends the existence of a record: `true` when it is inserted, `false` when it is deleted.
  public func presence(
    to property: any KeyPath<Subject, Bool> & Sendable
  ) -> RecordChannel {
    var result = self
    result.addPresence = { isThere, channel, batch in
      batch.set(property, to: isThere, on: channel)
    }
    return result
  }

  private func adding(
    _ name: String,
    _ add:
      @escaping @Sendable (FieldValue, Channel<Subject>, inout ChannelBatch)
      throws(RecordChannelError) -> Void
  ) -> RecordChannel {
    var result = self
    result.columns.append(Column(name: name, add: add))
    return result
  }
}

// MARK: - Batches

extension RecordChannel {
  /// Converts a difference to one batch: the changed columns of updated records, and all columns of inserted records
  /// and of those that moved to another channel. Of a deleted record, only ``presence(to:)`` is sent; its models
  /// keep their values.
  ///
  /// - Throws: ``RecordChannelError`` if a record lacks a column, or has a value that cannot be converted.
  public func batch(
    for difference: SetDifference<Record>
  ) throws(RecordChannelError) -> ChannelBatch {
    var batch = ChannelBatch()
    try addEnds(of: difference, to: &batch)
    for update in difference.updated { try add(update, to: &batch) }
    for record in difference.inserted { try add(record, to: &batch) }
    return batch
  }

  /// Adds the absence of records that have left their channels. This precedes all other values, because another
  /// record may have moved to the channel.
  private func addEnds(
    of difference: SetDifference<Record>, to batch: inout ChannelBatch
  ) throws(RecordChannelError) {
    guard let addPresence else { return }
    for record in difference.deleted { addPresence(false, try channel(record), &batch) }
    for update in difference.updated {
      let old = try channel(update.old)
      if try channel(update.new) != old { addPresence(false, old, &batch) }
    }
  }

  private func add(
    _ update: SetDifference<Record>.Update, to batch: inout ChannelBatch
  ) throws(RecordChannelError) {
    let channel = try channel(update.new)
    guard try self.channel(update.old) == channel else {
      return try add(update.new, to: &batch)
    }
    for column in columns where update.old[column.name] != update.new[column.name] {
      try add(column, of: update.new, channel, to: &batch)
    }
  }

  private func add(
    _ record: Record, to batch: inout ChannelBatch
  ) throws(RecordChannelError) {
    let channel = try channel(record)
    for column in columns { try add(column, of: record, channel, to: &batch) }
    addPresence?(true, channel, &batch)
  }

  private func add(
    _ column: Column, of record: Record, _ channel: Channel<Subject>, to batch: inout ChannelBatch
  ) throws(RecordChannelError) {
    guard record.layout.offset(of: column.name) != nil else {
      throw .missing(column.name, of: "\(channel)")
    }
    try column.add(record[column.name], channel, &batch)
  }
}

// MARK: - Values

extension RecordChannel {
  private static func value<ID: DatabaseValue>(
    in record: Record, _ column: String, as _: ID.Type
  ) throws(RecordChannelError) -> ID {
    guard record.layout.offset(of: column) != nil else {
      throw .missing(column, of: "\(Subject.self)")
    }
    guard let id = ID(fieldValue: record[column]) else {
      throw .wrong(record[column], in: column, of: "\(Subject.self)", type: ID.self)
    }
    return id
  }

  private static func converted<Value: DatabaseValue>(
    _ value: FieldValue, _ column: String, _ channel: Channel<Subject>
  ) throws(RecordChannelError) -> Value {
    guard let converted = Value(fieldValue: value) else {
      throw .wrong(value, in: column, of: "\(channel)", type: Value.self)
    }
    return converted
  }
}
