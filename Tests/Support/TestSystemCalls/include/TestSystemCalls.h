#ifndef TEST_SYSTEM_CALLS_H
#define TEST_SYSTEM_CALLS_H

#include <stdbool.h>
#include <stddef.h>

/// True if the system calls of this process can be recorded: on Linux, without a sanitizer.
bool test_calls_are_recorded(void);

/// The most recordings at a time.
#define TEST_CALLS_MAX_RECORDING_COUNT 8

/// Records, in order, the calls that write, synchronize, rename and remove files below a directory, by any thread
/// of the process.
///
/// Returns the recording's number, or -1 if there are too many.
int test_calls_begin(const char *directory);

/// Makes the synchronization of each partial file (`*.part`) wait until that of so many has begun.
void test_calls_hold_syncs(int recording, int count);

/// Ends a recording. Copies at most `capacity` bytes of it, a line for each call: `write PATH`, `sync PATH`,
/// `rename PATH PATH`, `remove PATH`, with paths relative to the directory. Successive writes to one file are one
/// line.
///
/// Returns the length of the recording.
size_t test_calls_end(int recording, char *buffer, size_t capacity);

#ifdef __linux__
#include <spawn.h>

// Of glibc 2.29 and 2.34. Swift does not see them, because it imports the header without _GNU_SOURCE.
int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *, const char *);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);

// The same holds for terminals.
int posix_openpt(int);
int grantpt(int);
int unlockpt(int);
char *ptsname(int);
#endif

#endif
