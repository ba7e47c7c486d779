internal import TandemRecords
package import TandemSQLite
internal import TandemSync

/// The tables of a space in its SQLite file, in a transaction that is open on a connection.
///
/// All functions are synchronous, so that a simulator can run them in memory, without tasks.
package struct SpaceTables {
  /// The connection with the open transaction.
  let connection: DatabaseConnection

  /// The tables in the file of a connection.
  package init(_ connection: DatabaseConnection) { self.connection = connection }
}
