import TestPostgreSQL
import Testing

@testable import TandemPostgreSQL

/// The form in which a test keeps its spaces.
enum TestStore: CustomStringConvertible {
  case sqlite
  case postgreSQL

  @TaskLocal static var current = TestStore.sqlite

  var description: String {
    switch self {
    case .sqlite: "SQLite"
    case .postgreSQL: "PostgreSQL"
    }
  }

  /// The address of a database with the schema, for the tests of this process.
  static let address = Result {
    let address = try TestCluster.shared.get().makeDatabase()
    try PostgreSQLSchema.create(PostgreSQLConnection(address: address))
    return address
  }
}

/// Runs each test twice: with spaces in SQLite, and in PostgreSQL.
struct OnBothStores: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await function()
    guard !test.traits.contains(where: { $0 is OnlyOnSQLite }) else { return }
    try await TestStore.$current.withValue(.postgreSQL) { try await function() }
  }
}

/// A test of a suite for both stores that looks into the file.
struct OnlyOnSQLite: TestTrait {}

extension Trait where Self == OnBothStores {
  static var onBothStores: Self { OnBothStores() }
}

extension Trait where Self == OnlyOnSQLite {
  static var onlyOnSQLite: Self { OnlyOnSQLite() }
}
