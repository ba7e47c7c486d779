#include "allocations.h"

#ifdef __GLIBC__

#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

// The program's own malloc goes before that of the C library, also for other libraries.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

static __thread int64_t allocation_count;

void *malloc(size_t size) {
  allocation_count += 1;
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  allocation_count += 1;
  return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
  allocation_count += 1;
  return __libc_realloc(memory, size);
}

int64_t floor_allocation_count(void) { return allocation_count; }

int64_t floor_allocated_byte_count(void) {
  struct mallinfo2 information = mallinfo2();
  return (int64_t)(information.uordblks + information.hblkhd);
}

int64_t floor_resident_byte_count(void) {
  malloc_trim(0);
  FILE *file = fopen("/proc/self/statm", "r");
  long long size = 0, resident = -1;
  if (file == NULL) return -1;
  if (fscanf(file, "%lld %lld", &size, &resident) != 2) resident = -1;
  fclose(file);
  return resident < 0 ? -1 : (int64_t)resident * sysconf(_SC_PAGESIZE);
}

#else

int64_t floor_resident_byte_count(void) { return -1; }
int64_t floor_allocation_count(void) { return -1; }
int64_t floor_allocated_byte_count(void) { return -1; }

#endif
