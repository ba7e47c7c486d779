#ifndef TANDEM_CMICROHTTP_SHIM_H
#define TANDEM_CMICROHTTP_SHIM_H

#include <microhttpd.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

// Variadic functions are not imported into Swift, and the options of a daemon are variadic.

// All options of a daemon. `context` goes to each function.
typedef struct {
  MHD_socket listening;
  size_t connection_byte_count;
  unsigned int connection_count;
  unsigned int address_connection_count;
  unsigned int idle_seconds;
  // PEM texts, or NULL for a server without TLS.
  const char *certificate;
  const char *key;
  void *context;
  // Called with the request's target; returns the context of the request.
  void *(*begin)(void *context, const char *target, struct MHD_Connection *connection);
  MHD_AccessHandlerCallback handle;
  MHD_RequestCompletedCallback complete;
  MHD_NotifyConnectionCallback notify;
  // Called with the library's messages: a limit was reached, a request was refused, or connections ended early, which is
  // usual.
  void (*report)(void *context, const char *format, va_list arguments);
} cmicrohttp_options;

// The messages that matter. NULL for others.
static inline const char *cmicrohttp_limit(const char *format) {
  if (format && strstr(format, "Server reached connection limit"))
    return "connections";
  return format && strstr(format, "Hit process or system resource limit") ? "files" : NULL;
}

// The status of the answer by which the library refuses a request itself; 0 for other messages.
static inline unsigned int cmicrohttp_refusal(const char *format, va_list arguments) {
  return format && strstr(format, "(HTTP response code is %u ") ? va_arg(arguments, unsigned int) : 0;
}

// Targets stay percent-encoded: otherwise an encoded slash could not be told from a slash.
static size_t cmicrohttp_keep(void *context, struct MHD_Connection *connection, char *text) {
  (void)context;
  (void)connection;
  return strlen(text);
}

static inline struct MHD_Daemon *cmicrohttp_start(const cmicrohttp_options *options) {
  unsigned int flags = MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG
      | (options->key ? MHD_USE_TLS : 0);
  struct MHD_OptionItem items[] = {
      // First, so that it applies to the messages about other options.
      {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)options->report, options->context},
      {MHD_OPTION_LISTEN_SOCKET, options->listening, NULL},
      {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)options->connection_byte_count, NULL},
      {MHD_OPTION_CONNECTION_LIMIT, options->connection_count, NULL},
      {MHD_OPTION_PER_IP_CONNECTION_LIMIT, options->address_connection_count, NULL},
      {MHD_OPTION_CONNECTION_TIMEOUT, options->idle_seconds, NULL},
      // 1: what the standard forbids in a request is refused.
      {MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
      {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)&cmicrohttp_keep, NULL},
      {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)options->begin, options->context},
      {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)options->complete, options->context},
      {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)options->notify, options->context},
      {MHD_OPTION_END, 0, NULL},
      {MHD_OPTION_END, 0, NULL},
      {MHD_OPTION_END, 0, NULL},
      {MHD_OPTION_END, 0, NULL}};
  size_t last = sizeof items / sizeof *items - 4;
  if (options->key) {
    items[last] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)options->key};
    items[last + 1] =
        (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)options->certificate};
    // RFC 8996 forbids the versions before.
    items[last + 2] = (struct MHD_OptionItem){
        MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"};
  }
  return MHD_start_daemon(flags, 0, NULL, NULL, options->handle, options->context,
                          MHD_OPTION_ARRAY, items, MHD_OPTION_END);
}

// The walk of cmicrohttp_is_whole through the fields of a header.
typedef struct {
  // The end of the line before, and the number of bytes that end a line: 2, or 1 if clients send bare line feeds.
  const char *place;
  size_t line_end_count;
  int is_whole;
} cmicrohttp_walk;

static inline enum MHD_Result cmicrohttp_step(
    void *context, enum MHD_ValueKind kind, const char *name, const char *value) {
  (void)kind;
  cmicrohttp_walk *walk = (cmicrohttp_walk *)context;
  if (name != walk->place || !value) {
    walk->is_whole = 0;
    return MHD_NO;
  }
  walk->place = value + strlen(value) + walk->line_end_count;
  return MHD_YES;
}

// False if the header of a request has a NUL, or a folded line. libmicrohttpd 0.9 takes a NUL for the end of a value, of
// the target or of the header, and tells nobody. It keeps the lines one after the other, with NULs in the place of their
// ends: so each part must begin where the one before ends. Later versions refuse a NUL themselves. One case cannot be
// told: a NUL before a bare line feed, where other lines end with CR LF.
static inline int cmicrohttp_is_whole(struct MHD_Connection *connection, const char *method,
                                      size_t target_byte_count, const char *version) {
  if (strncmp(MHD_get_version(), "0.", 2) != 0)
    return 1;
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  if (!info)
    return 0;
  const char *end = method + info->header_size;
  const char *target = method + strlen(method) + 1;
  while (*target == ' ')
    target++;
  if (version != target + target_byte_count + 1)
    return 0;
  const char *line_end = version + strlen(version);
  cmicrohttp_walk walk = {line_end, line_end[1] == 0 && end > line_end + 2 ? 2 : 1, 1};
  walk.place += walk.line_end_count;
  MHD_get_connection_values(connection, MHD_HEADER_KIND, cmicrohttp_step, &walk);
  // An empty line is the last one.
  return walk.is_whole && walk.place + walk.line_end_count == end;
}

static inline int cmicrohttp_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

static inline struct MHD_Daemon *cmicrohttp_daemon(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_DAEMON);
  return info ? info->daemon : NULL;
}

// The value that MHD_NotifyConnectionCallback stored for the connection.
static inline void *cmicrohttp_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : NULL;
}

// The status of the answer that a request got; 0 if it got none.
static inline unsigned int cmicrohttp_status(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_HTTP_STATUS);
  return info ? info->http_status : 0;
}

// Returns freed memory to the system. glibc otherwise keeps what large bodies and answers took.
static inline void cmicrohttp_trim_memory(void) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

// Neither macros of these values nor these names of closed enumerations are imported into Swift.
static const enum MHD_Result cmicrohttp_yes = MHD_YES;
static const enum MHD_Result cmicrohttp_no = MHD_NO;
static const enum MHD_ValueKind cmicrohttp_header = MHD_HEADER_KIND;
static const enum MHD_ConnectionNotificationCode cmicrohttp_started = MHD_CONNECTION_NOTIFY_STARTED;
static const ssize_t cmicrohttp_end_of_stream = MHD_CONTENT_READER_END_OF_STREAM;
static const uint64_t cmicrohttp_unknown_size = MHD_SIZE_UNKNOWN;

#endif
