// Defines system calls in the executable of the tests, which the dynamic linker prefers to those of libc for
// SQLite and Swift alike. Only calls on Linux and without a sanitizer, which defines them too, are recorded.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "TestSystemCalls.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif

#if defined(__linux__) && !defined(IS_SANITIZED)

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct recording {
  char directory[PATH_MAX];
  char last_line[2 * PATH_MAX + 16];
  char text[256 << 10];
  size_t length;
  /// The partial files that must be at their synchronization before one of them is synchronized.
  int held_sync_count;
  int arrived_sync_count;
};

static atomic_int recording_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrival = PTHREAD_COND_INITIALIZER;
static struct recording recordings[TEST_CALLS_MAX_RECORDING_COUNT];

bool test_calls_are_recorded(void) { return true; }

int test_calls_begin(const char *path) {
  int number = -1;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < TEST_CALLS_MAX_RECORDING_COUNT && number < 0; i++) {
    if (recordings[i].directory[0] == 0) number = i;
  }
  if (number >= 0) {
    struct recording *one = &recordings[number];
    one->length = 0;
    one->last_line[0] = 0;
    one->held_sync_count = 0;
    one->arrived_sync_count = 0;
    if (realpath(path, one->directory) == NULL) {
      one->directory[0] = 0;
      number = -1;
    }
  }
  if (number >= 0) atomic_fetch_add(&recording_count, 1);
  pthread_mutex_unlock(&lock);
  return number;
}

size_t test_calls_end(int number, char *buffer, size_t capacity) {
  struct recording *one = &recordings[number];
  atomic_fetch_sub(&recording_count, 1);
  pthread_mutex_lock(&lock);
  size_t length = one->length < capacity ? one->length : capacity;
  memcpy(buffer, one->text, length);
  one->directory[0] = 0;
  pthread_mutex_unlock(&lock);
  return length;
}

void test_calls_hold_syncs(int number, int count) {
  pthread_mutex_lock(&lock);
  recordings[number].held_sync_count = count;
  pthread_mutex_unlock(&lock);
}

static bool is_recording(void) { return atomic_load(&recording_count) > 0; }

/// The path of a descriptor, or of a name in the directory of a descriptor.
static void path_of(int descriptor, const char *name, char *path) {
  char link[64];
  path[0] = 0;
  if (name != NULL && name[0] == '/') {
    snprintf(path, PATH_MAX, "%s", name);
    return;
  }
  if (descriptor == AT_FDCWD) {
    snprintf(link, sizeof link, "/proc/self/cwd");
  } else {
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  }
  long count = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
  path[count < 0 ? 0 : count] = 0;
  if (name != NULL) {
    size_t used = strlen(path);
    snprintf(path + used, PATH_MAX - used, "/%s", name);
  }
}

/// The path below a directory; NULL for a path elsewhere.
static const char *relative(const char *path, const char *directory) {
  size_t count = strlen(directory);
  if (count == 0 || strncmp(path, directory, count) != 0) return NULL;
  if (path[count] == 0) return ".";
  return path[count] == '/' ? path + count + 1 : NULL;
}

static void add(struct recording *one, const char *call, const char *first, const char *second) {
  char line[sizeof one->last_line];
  const char *from = relative(first, one->directory);
  const char *to = second == NULL ? NULL : relative(second, one->directory);
  if (from == NULL || (second != NULL && to == NULL)) return;
  int count =
      snprintf(line, sizeof line, "%s %s%s%s\n", call, from, to ? " " : "", to ? to : "");
  bool is_repeated = strcmp(call, "write") == 0 && strcmp(line, one->last_line) == 0;
  if (count <= 0 || is_repeated || one->length + (size_t)count > sizeof one->text) return;
  memcpy(one->text + one->length, line, (size_t)count);
  one->length += (size_t)count;
  memcpy(one->last_line, line, sizeof line);
}

static void record(const char *call, const char *first, const char *second) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < TEST_CALLS_MAX_RECORDING_COUNT; i++) {
    if (recordings[i].directory[0] != 0) add(&recordings[i], call, first, second);
  }
  pthread_mutex_unlock(&lock);
}

static void record_descriptor(const char *call, int descriptor) {
  char path[PATH_MAX];
  if (!is_recording()) return;
  path_of(descriptor, NULL, path);
  record(call, path, NULL);
}

/// Waits for the other partial files, if a recording asks for it.
static void hold_sync(int descriptor) {
  char path[PATH_MAX];
  if (!is_recording()) return;
  path_of(descriptor, NULL, path);
  size_t length = strlen(path);
  if (length < 5 || strcmp(path + length - 5, ".part") != 0) return;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < TEST_CALLS_MAX_RECORDING_COUNT; i++) {
    struct recording *one = &recordings[i];
    if (one->held_sync_count == 0 || relative(path, one->directory) == NULL) continue;
    one->arrived_sync_count++;
    pthread_cond_broadcast(&arrival);
    while (one->arrived_sync_count < one->held_sync_count) pthread_cond_wait(&arrival, &lock);
  }
  pthread_mutex_unlock(&lock);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
  record_descriptor("write", descriptor);
  return syscall(SYS_write, descriptor, bytes, count);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
  record_descriptor("write", descriptor);
  return syscall(SYS_pwrite64, descriptor, bytes, count, offset);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  return pwrite64(descriptor, bytes, count, offset);
}

int fsync(int descriptor) {
  hold_sync(descriptor);
  int result = (int)syscall(SYS_fsync, descriptor);
  if (result == 0) record_descriptor("sync", descriptor);
  return result;
}

int fdatasync(int descriptor) {
  int result = (int)syscall(SYS_fdatasync, descriptor);
  if (result == 0) record_descriptor("sync", descriptor);
  return result;
}

int renameat(int descriptor, const char *name, int other, const char *new_name) {
  if (is_recording()) {
    char from[PATH_MAX], to[PATH_MAX];
    path_of(descriptor, name, from);
    path_of(other, new_name, to);
    record("rename", from, to);
  }
  return (int)syscall(SYS_renameat2, descriptor, name, other, new_name, 0);
}

int rename(const char *name, const char *new_name) {
  return renameat(AT_FDCWD, name, AT_FDCWD, new_name);
}

int unlinkat(int descriptor, const char *name, int flags) {
  if (is_recording()) {
    char path[PATH_MAX];
    path_of(descriptor, name, path);
    record("remove", path, NULL);
  }
  return (int)syscall(SYS_unlinkat, descriptor, name, flags);
}

int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }

#else

void test_calls_hold_syncs(int recording, int count) {
  (void)recording;
  (void)count;
}
bool test_calls_are_recorded(void) { return false; }
int test_calls_begin(const char *directory) {
  (void)directory;
  return -1;
}
size_t test_calls_end(int recording, char *buffer, size_t capacity) {
  (void)recording;
  (void)buffer;
  (void)capacity;
  return 0;
}

#endif
