#ifndef TANDEM_FLOORS_H
#define TANDEM_FLOORS_H

#include <stddef.h>
#include <stdint.h>

/// A record of an integer key and two small fields: 24 bytes.
typedef struct {
  int64_t id;
  int64_t first;
  int64_t second;
} floor_record;

/// Walks two arrays, both ascending by id, and writes the positions of what changed, as a hand-written
/// C merge does: no checks, no allocation. The three arrays have room for every change.
void floor_merge(
    const floor_record *old_records, size_t old_count,
    const floor_record *new_records, size_t new_count,
    uint32_t *inserted, size_t *inserted_count,
    uint32_t *updated, size_t *updated_count,
    uint32_t *deleted, size_t *deleted_count);

#endif
