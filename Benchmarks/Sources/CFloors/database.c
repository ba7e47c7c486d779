#include "database_floors.h"

#include <sqlite3.h>
#include <stdlib.h>

struct floor_database {
  sqlite3 *connection;
  sqlite3_stmt *begin, *commit, *insert, *update, *read;
  /// What was read, so that reading is not left out.
  double sum;
};

static sqlite3_stmt *prepare(floor_database *database, const char *sql) {
  sqlite3_stmt *statement = NULL;
  sqlite3_prepare_v3(
      database->connection, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL);
  return statement;
}

floor_database *floor_database_open(const char *path) {
  floor_database *database = calloc(1, sizeof *database);
  if (database == NULL) return NULL;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const char *setup =
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
      "CREATE TABLE IF NOT EXISTS place"
      " (id INTEGER PRIMARY KEY, name TEXT, population INTEGER, latitude REAL)";
  if (sqlite3_open_v2(path, &database->connection, flags, NULL) != SQLITE_OK ||
      sqlite3_exec(database->connection, setup, NULL, NULL, NULL) != SQLITE_OK) {
    floor_database_close(database);
    return NULL;
  }
  database->begin = prepare(database, "BEGIN IMMEDIATE");
  database->commit = prepare(database, "COMMIT");
  database->insert = prepare(database, "INSERT INTO place VALUES (?, ?, ?, ?)");
  database->update = prepare(database, "UPDATE place SET population = ? WHERE id = ?");
  database->read = prepare(database, "SELECT id, name, population, latitude FROM place");
  return database;
}

void floor_database_close(floor_database *database) {
  sqlite3_finalize(database->begin);
  sqlite3_finalize(database->commit);
  sqlite3_finalize(database->insert);
  sqlite3_finalize(database->update);
  sqlite3_finalize(database->read);
  sqlite3_close(database->connection);
  free(database);
}

static int run(sqlite3_stmt *statement) {
  sqlite3_step(statement);
  return sqlite3_reset(statement);
}

static void bind_id(sqlite3_stmt *statement, int parameter, const floor_place *row) {
  if (row->key == NULL) {
    sqlite3_bind_int64(statement, parameter, row->id);
  } else {
    sqlite3_bind_text(statement, parameter, row->key, -1, SQLITE_STATIC);
  }
}

long floor_database_insert(floor_database *database, const floor_place *rows, size_t count) {
  sqlite3_stmt *insert = database->insert;
  if (run(database->begin) != SQLITE_OK) return -1;
  for (size_t i = 0; i < count; i++) {
    bind_id(insert, 1, &rows[i]);
    sqlite3_bind_text(insert, 2, rows[i].name, (int)rows[i].name_length, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 3, rows[i].population);
    sqlite3_bind_double(insert, 4, rows[i].latitude);
    if (run(insert) != SQLITE_OK) return -1;
  }
  return run(database->commit) == SQLITE_OK ? (long)count : -1;
}

long floor_database_update(
    floor_database *database, const int64_t *ids, size_t count, int64_t population) {
  long changed = 0;
  if (run(database->begin) != SQLITE_OK) return -1;
  for (size_t i = 0; i < count; i++) {
    sqlite3_bind_int64(database->update, 1, population);
    sqlite3_bind_int64(database->update, 2, ids[i]);
    if (run(database->update) != SQLITE_OK) return -1;
    changed += sqlite3_changes(database->connection);
  }
  return run(database->commit) == SQLITE_OK ? changed : -1;
}

long floor_database_update_rows(
    floor_database *database, const floor_place *rows, size_t count, int64_t population) {
  long changed = 0;
  if (run(database->begin) != SQLITE_OK) return -1;
  for (size_t i = 0; i < count; i++) {
    sqlite3_bind_int64(database->update, 1, population);
    bind_id(database->update, 2, &rows[i]);
    if (run(database->update) != SQLITE_OK) return -1;
    changed += sqlite3_changes(database->connection);
  }
  return run(database->commit) == SQLITE_OK ? changed : -1;
}

long floor_database_read(floor_database *database) {
  sqlite3_stmt *read = database->read;
  double sum = 0;
  long count = 0;
  while (sqlite3_step(read) == SQLITE_ROW) {
    sum += (double)sqlite3_column_int64(read, 0);
    sum += sqlite3_column_text(read, 1)[0] + sqlite3_column_bytes(read, 1);
    sum += (double)sqlite3_column_int64(read, 2);
    sum += sqlite3_column_double(read, 3);
    count++;
  }
  database->sum = sum;
  return sqlite3_reset(read) == SQLITE_OK ? count : -1;
}
