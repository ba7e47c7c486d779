#ifndef TANDEM_CCRYPTO_SHIM_H
#define TANDEM_CCRYPTO_SHIM_H

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#endif
