/// Brings changes of records, such as those of a live query, to channels: each updated column of a
/// record to the channel of the record's id.
///
/// ```swift
/// let users = RecordChannel<User>(id: "id").column("name", to: \.name).column("age", to: \.age)
/// hub.send(users.batch(for: difference))
/// ```
public struct RecordChannel<Subject>: Sendable {
  private struct Column: Sendable {
    var name: String
    var add: @Sendable (FieldValue, Channel<Subject>, inout ChannelBatch) -> Void
  }

  private let channel: @Sendable (Record) -> Channel<Subject>?
  private var columns: [Column] = []

  /// A subject whose channels have the values of a key column as ids: an `Int64` for an integer, a
  /// `String` for a text. Records with other values are passed over.
  public init(id column: String) {
    channel = { record in
      switch record[column] {
      case .integer(let id): Channel(id: id)
      case .text(let id): Channel(id: id)
      case .null, .real, .blob: nil
      }
    }
  }

  /// A subject whose channels have ids made of records; `nil` passes a record over.
  public init<ID: Hashable & Sendable>(idOf id: @escaping @Sendable (Record) -> ID?) {
    channel = { record in id(record).map { Channel(id: $0) } }
  }

  /// Also carries a column of texts. A null, or a value of another type, is passed over.
  public func column(
    _ name: String, to property: any KeyPath<Subject, String> & Sendable
  ) -> RecordChannel {
    self.column(name, to: property) { if case .text(let text) = $0 { text } else { nil } }
  }

  /// Also carries a column of integers. A null, a value of another type, or one that is out of range is
  /// passed over.
  public func column<Value: FixedWidthInteger & Sendable>(
    _ name: String, to property: any KeyPath<Subject, Value> & Sendable
  ) -> RecordChannel {
    self.column(name, to: property) {
      if case .integer(let number) = $0 { Value(exactly: number) } else { nil }
    }
  }

  /// Also carries a column by a conversion, of which `nil` passes the value over.
  public func column<Value: Sendable>(
    _ name: String, to property: any KeyPath<Subject, Value> & Sendable,
    converting convert: @escaping @Sendable (FieldValue) -> Value?
  ) -> RecordChannel {
    var result = self
    result.columns.append(
      Column(name: name) { value, channel, batch in
        if let value = convert(value) { batch.set(property, to: value, on: channel) }
      })
    return result
  }

  /// What a difference says, as one batch: the columns that changed of updated records, all columns of
  /// inserted ones. Deleted records say nothing.
  public func batch(for difference: SetDifference<Record>) -> ChannelBatch {
    var batch = ChannelBatch()
    for update in difference.updated {
      guard let channel = channel(update.new) else { continue }
      for column in columns where update.old[column.name] != update.new[column.name] {
        column.add(update.new[column.name], channel, &batch)
      }
    }
    for record in difference.inserted {
      guard let channel = channel(record) else { continue }
      for column in columns { column.add(record[column.name], channel, &batch) }
    }
    return batch
  }
}
