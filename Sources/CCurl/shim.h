#ifndef TANDEM_CCURL_SHIM_H
#define TANDEM_CCURL_SHIM_H

#include <curl/curl.h>

#endif
