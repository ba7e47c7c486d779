internal import TandemRecords
internal import TandemSQLite

/// The tables in which tools note what they did to the schema of a file, such as the migrations that ran. They
/// describe one copy: another one that got their rows would skip its own migrations.
package enum ToolTables {
  private static let names = [
    // Rails, Django, Alembic, GRDB, Flyway, Liquibase, Knex, Goose
    "schema_migrations", "ar_internal_metadata", "django_migrations", "alembic_version",
    "grdb_migrations", "flyway_schema_history", "databasechangelog", "databasechangeloglock",
    "knex_migrations", "knex_migrations_lock", "goose_db_version",
    // Entity Framework, Sequelize, SQLx, Prisma, Drizzle, Android with Room, Core Data
    "__EFMigrationsHistory", "__EFMigrationsLock", "SequelizeMeta", "_sqlx_migrations",
    "_prisma_migrations", "__drizzle_migrations", "android_metadata", "room_master_table",
    "Z_METADATA", "Z_MODELCACHE", "Z_PRIMARYKEY",
  ]

  /// True if a table has the name of one of them.
  static func contains(_ name: String) -> Bool { names.contains { name.isSameSQLName(as: $0) } }
}

extension DatabaseConnection {
  /// The tables of a file that may be synchronized, in the order of their names, and those of tools, which are left
  /// out if all are meant.
  package func tablesToAttach() throws -> (names: [String], ofTools: [String]) {
    let names = try rows(
      """
      SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
        AND name NOT LIKE 'sqlite@_%' ESCAPE '@' AND name NOT LIKE 'tandem@_%' ESCAPE '@'
      ORDER BY name
      """
    ).compactMap { $0[0].textValue }
    return (names.filter { !ToolTables.contains($0) }, names.filter(ToolTables.contains))
  }
}
