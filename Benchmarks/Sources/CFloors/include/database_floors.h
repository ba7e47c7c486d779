#ifndef TANDEM_DATABASE_FLOORS_H
#define TANDEM_DATABASE_FLOORS_H

#include <stddef.h>
#include <stdint.h>

/// A row of the table place (id INTEGER PRIMARY KEY, name TEXT, population INTEGER, latitude REAL).
typedef struct {
  int64_t id;
  /// The id in a table whose ids are texts; NULL otherwise.
  const char *key;
  const char *name;
  size_t name_length;
  int64_t population;
  double latitude;
} floor_place;

/// A connection by SQLite's C API, set up as Tandem sets up its own: write-ahead log, synchronous=FULL,
/// foreign keys.
typedef struct floor_database floor_database;

/// Opens a file, and creates it with the table place if it is missing; NULL if that fails.
floor_database *floor_database_open(const char *path);

void floor_database_close(floor_database *database);

/// Inserts rows in one transaction, by one prepared statement; returns how many, or -1.
long floor_database_insert(floor_database *database, const floor_place *rows, size_t count);

/// Sets the population of the rows with these ids in one transaction, by one prepared statement that
/// is kept; returns how many changed, or -1.
long floor_database_update(
    floor_database *database, const int64_t *ids, size_t count, int64_t population);

/// The same for the rows with the ids of these, which may be texts.
long floor_database_update_rows(
    floor_database *database, const floor_place *rows, size_t count, int64_t population);

/// Steps through all rows and looks at every column; returns how many there are, or -1.
long floor_database_read(floor_database *database);

#endif
