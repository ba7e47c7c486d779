import TandemRecords
import TandemSpace
import TandemSync
import TestPostgreSQL
import TestRandom

@testable import TandemPostgreSQL

/// The rows of the space in PostgreSQL: one space, used by one simulation after the other.
final class SimulatedPostgreSQL {
  /// The rows as a backup has them.
  typealias Rows = [SpaceStoredTable: [[FieldValue]]]

  private static let space: Int64 = 1

  private let cluster: TestCluster
  private let connection: PostgreSQLConnection

  /// Starts a server, which ends with this object or with the process.
  init() throws {
    cluster = try TestCluster(isDurable: false)
    connection = try PostgreSQLConnection(address: cluster.address())
    try PostgreSQLSchema.create(connection)
  }

  private func withRows<Value>(
    writes: Bool, _ body: (PostgreSQLSpaceConnection) throws -> Value
  ) throws -> Value {
    let rows = PostgreSQLSpaceConnection(
      connection, space: Self.space, place: "space", writes: writes)
    do {
      let value = try body(rows)
      try rows.commit()
      return value
    } catch {
      rows.rollBack()
      throw error
    }
  }

  func transaction<Value>(
    writes: Bool, _ limits: SyncLimits, _ body: (SpaceTables) throws -> Value
  ) throws -> Value {
    try withRows(writes: writes) { try body(SpaceTables($0, limits: limits)) }
  }

  /// Replaces the space by a new one without tables.
  func startEmpty() throws {
    var random = SplitMix64(seed: 1)
    try withRows(writes: true) { rows in
      try rows.deleteAll()
      _ = try SpaceTables(rows).create(using: &random)
    }
  }

  func rows() throws -> Rows {
    try withRows(writes: false) { rows in
      var result: Rows = [:]
      for table in SpaceStoredTable.allCases {
        try rows.forEachRow(of: table) { result[table, default: []].append($0) }
      }
      return result
    }
  }

  func restore(_ former: Rows) throws {
    try withRows(writes: true) { rows in
      try rows.deleteAll()
      for (table, values) in former { try rows.insert(values, into: table) }
    }
  }
}
