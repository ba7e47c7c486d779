#include "floors.h"

void floor_merge(
    const floor_record *old_records, size_t old_count,
    const floor_record *new_records, size_t new_count,
    uint32_t *inserted, size_t *inserted_count,
    uint32_t *updated, size_t *updated_count,
    uint32_t *deleted, size_t *deleted_count) {
  size_t i = 0, j = 0, inserts = 0, updates = 0, deletes = 0;
  while (i < old_count && j < new_count) {
    const floor_record *o = &old_records[i], *n = &new_records[j];
    if (o->id == n->id) {
      if (o->first != n->first || o->second != n->second) updated[updates++] = (uint32_t)j;
      i++;
      j++;
    } else if (o->id < n->id) {
      deleted[deletes++] = (uint32_t)i++;
    } else {
      inserted[inserts++] = (uint32_t)j++;
    }
  }
  while (i < old_count) deleted[deletes++] = (uint32_t)i++;
  while (j < new_count) inserted[inserts++] = (uint32_t)j++;
  *inserted_count = inserts;
  *updated_count = updates;
  *deleted_count = deletes;
}
