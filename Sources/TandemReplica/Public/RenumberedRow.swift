/// A row that got another key, because the space had given its number to a record of another replica.
public struct RenumberedRow: Hashable, Sendable {
  /// The name of the table.
  public let table: String
  /// The key that the row had.
  public let former: Int64
  /// The key that it has now.
  public let present: Int64
}
