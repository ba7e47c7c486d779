#ifndef TANDEM_CSQLITE_SHIM_H
#define TANDEM_CSQLITE_SHIM_H

// These only reveal prototypes; the library itself decides what it was built with.
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#define SQLITE_ENABLE_SESSION 1
#include <sqlite3.h>

// A macro that casts an integer to a function pointer is not imported into Swift.
static inline sqlite3_destructor_type csqlite_transient(void) { return SQLITE_TRANSIENT; }

// Nor is a function that takes any number of arguments.
static inline int csqlite_enable_triggers(sqlite3 *database, int isEnabled) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, isEnabled, (int *)0);
}

// Permits or refuses statements that edit the text of the schema; returns whether they were refused.
static inline int csqlite_set_defensive(sqlite3 *database, int isDefensive) {
  int former = 0;
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, -1, &former);
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, isDefensive, (int *)0);
  return former;
}

// Loads an extension; `message` is freed by sqlite3_free. Apple's library cannot.
static inline int csqlite_load_extension(sqlite3 *database, const char *file, char **message) {
#ifdef __APPLE__
  (void)database;
  (void)file;
  *message = sqlite3_mprintf("the SQLite library of this system loads no extensions");
  return SQLITE_ERROR;
#else
  // Only this function loads extensions: statements must not.
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, (int *)0);
  int result = sqlite3_load_extension(database, file, (const char *)0, message);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, (int *)0);
  return result;
#endif
}

// Makes SQLite leave out its count of memory, and with it a lock for each allocation, before its first use.
static inline int csqlite_leave_out_memory_count(void) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

// Makes SQLite leave out its locks too, before its first use: all connections of the program are used by
// one thread.
static inline int csqlite_use_one_thread(void) {
  int result = sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
  return result == SQLITE_OK ? csqlite_leave_out_memory_count() : result;
}

#endif
