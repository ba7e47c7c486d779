internal import TandemSync

/// An error of a PostgreSQL server, or of the way to it.
package struct PostgreSQLError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of error.
  package enum Code: Hashable, Sendable {
    /// The client library is missing.
    case library
    /// The text that names the server cannot be used.
    case address
    /// The server cannot be reached, or does not let this program in.
    case connection
    /// The connection broke, or the server did not answer in time.
    case lost
    /// The database is not one that this version can use.
    case schema
    /// The server refused a statement, with this SQLSTATE.
    case statement(String)
  }

  /// The kind of error.
  package let code: Code
  /// A sentence for people.
  package let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { "PostgreSQL: \(message)" }

  static let damaged = PostgreSQLError(
    .schema, "the schema tandem cannot be read: another program has changed it; restore a backup")

  /// The error as the answer to a request: most of them pass, and the same bytes may be sent again.
  var refusal: SyncRequestError? {
    switch code {
    case .connection, .lost:
      // Other clients of the server need not know its address.
      SyncRequestError(
        .unavailable, "the database of the spaces cannot be reached; try again",
        retryAfter: .seconds(1))
    case .statement(let state):
      if state == "22021" {
        SyncRequestError(
          .malformed, "a name contains a zero byte, which spaces on PostgreSQL cannot store")
      } else if Self.passing.contains(where: state.hasPrefix) {
        SyncRequestError(
          .unavailable, "the database of the spaces cannot answer now; try again",
          retryAfter: .seconds(1))
      } else {
        nil
      }
    case .library, .address, .schema: nil
    }
  }

  /// Broken connections, rolled back transactions, missing resources, locks, and servers that stop.
  private static let passing = ["08", "40", "53", "55P03", "57", "25006", "58"]
}
