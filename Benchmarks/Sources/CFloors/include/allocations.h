#ifndef TANDEM_ALLOCATIONS_H
#define TANDEM_ALLOCATIONS_H

#include <stdint.h>

/// How often this thread has allocated memory so far; -1 where nobody counts.
int64_t floor_allocation_count(void);

/// How many bytes of this process are in memory, after those that are free were given back; -1 where
/// nobody counts.
int64_t floor_resident_byte_count(void);

/// How many bytes are allocated now, with what the allocator itself needs; -1 where nobody counts.
int64_t floor_allocated_byte_count(void);

#endif
