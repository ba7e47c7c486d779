// A disk that takes long to make data durable: as many microseconds longer as the environment variable
// FLUSH_MICROSECONDS says. The functions of a program, or of a library that is loaded first, replace those
// of the C library, also for SQLite. `scripts/bench` makes such a library of this file, for the programs
// that the benchmarks start.
#ifdef __linux__
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void wait_for_disk(void) {
  const char *text = getenv("FLUSH_MICROSECONDS");
  const long microseconds = text == NULL ? 0 : atol(text);
  if (microseconds <= 0) return;
  const struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
  nanosleep(&time, NULL);
}

int fsync(int descriptor) {
  wait_for_disk();
  return (int)syscall(SYS_fsync, descriptor);
}

int fdatasync(int descriptor) {
  wait_for_disk();
  return (int)syscall(SYS_fdatasync, descriptor);
}
#endif
