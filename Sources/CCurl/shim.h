#ifndef TANDEM_CCURL_SHIM_H
#define TANDEM_CCURL_SHIM_H

// The type checks of libcurl's macros need constant options, which the functions below have not.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

// Variadic functions are not imported into Swift. Each function below fixes the one type that
// libcurl reads for the options it is meant for; the names say which.

typedef size_t (*ccurl_data_callback)(char *data, size_t size, size_t count, void *context);

static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, const void *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_data_callback(
    CURL *easy, CURLoption option, ccurl_data_callback value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_get_pointer(CURL *easy, CURLINFO info, void **value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode ccurl_multi_set_callbacks(
    CURLM *multi, void *context, curl_socket_callback sockets, curl_multi_timer_callback timer) {
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
  return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, sockets);
}

#ifdef __linux__
#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

// The C library's Swift module has neither epoll nor eventfd.

// A socket, and the events to pass to curl_multi_socket_action.
typedef struct {
  int socket;
  int actions;
} ccurl_socket_event;

// Makes libcurl's sockets. libcurl does not report why a socket could not be made, so errno is stored in
// the int at error.
static inline curl_socket_t ccurl_open_socket(
    void *error, curlsocktype purpose, struct curl_sockaddr *address) {
  (void)purpose;
  int number = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (number < 0) *(int *)error = errno;
  return number;
}

static inline void ccurl_set_socket_error(CURL *easy, int *error) {
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, ccurl_open_socket);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, error);
}

// 1 if TLS has negotiated HTTP/1, or no version, for the current connection; 0 if it is HTTP/2, or unknown.
// libcurl has no function for it. The function of OpenSSL, which libcurl has loaded, is looked up so that
// nothing is linked.
static inline int ccurl_agreed_on_http1(CURL *easy) {
  typedef void (*function)(const void *, const unsigned char **, unsigned int *);
  struct curl_tlssessioninfo *session = NULL;
  if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || !session
      || session->backend != CURLSSLBACKEND_OPENSSL || !session->internals) return 0;
  function selected = (function)dlsym(NULL, "SSL_get0_alpn_selected");
  if (!selected) return 0;
  const unsigned char *name = NULL;
  unsigned int count = 0;
  selected(session->internals, &name, &count);
  return !(count == 2 && name[0] == 'h' && name[1] == '2');
}

// The host of a URL in the form of the domain name system. libcurl reads the host in the encoding of the
// thread's locale.
static inline CURLUcode ccurl_get_ascii_host(const CURLU *url, char **host) {
  locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
  if (!utf8) return CURLUE_LACKS_IDN;
  locale_t previous = uselocale(utf8);
  CURLUcode code = curl_url_get(url, CURLUPART_HOST, host, CURLU_PUNYCODE);
  uselocale(previous);
  freelocale(utf8);
  return code;
}

static inline int ccurl_poll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }
static inline int ccurl_wakeup_create(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
static inline void ccurl_close(int descriptor) { close(descriptor); }

static inline void ccurl_wakeup(int wakeup) {
  uint64_t one = 1;
  // It fails only if it was done 2^64 times already.
  if (write(wakeup, &one, sizeof one) < 0) return;
}

static inline void ccurl_wakeup_clear(int wakeup) {
  uint64_t count;
  if (read(wakeup, &count, sizeof count) < 0) return;
}

static inline int ccurl_watch(int poll, int socket, int interest, int is_known) {
  struct epoll_event event = {0};
  event.data.fd = socket;
  event.events = (interest & CURL_POLL_IN ? EPOLLIN : 0) | (interest & CURL_POLL_OUT ? EPOLLOUT : 0);
  if (interest == CURL_POLL_REMOVE) return epoll_ctl(poll, EPOLL_CTL_DEL, socket, &event);
  return epoll_ctl(poll, is_known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event);
}

static inline int ccurl_wait(int poll, ccurl_socket_event *events, int count, int milliseconds) {
  struct epoll_event ready[64];
  if (count > 64) count = 64;
  count = epoll_wait(poll, ready, count, milliseconds);
  for (int i = 0; i < count; i++) {
    events[i].socket = ready[i].data.fd;
    events[i].actions = (ready[i].events & EPOLLIN ? CURL_CSELECT_IN : 0)
        | (ready[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0)
        | (ready[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
  }
  return count;
}
#endif

#endif
