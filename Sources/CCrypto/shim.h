#ifndef TANDEM_CCRYPTO_SHIM_H
#define TANDEM_CCRYPTO_SHIM_H

#include <openssl/evp.h>

#endif
