#ifndef TANDEM_CZLIB_SHIM_H
#define TANDEM_CZLIB_SHIM_H

#include <zlib.h>

// inflateInit2 is a macro, which is not imported into Swift. 15 is the largest window; 16 selects gzip.
static inline int czlib_begin_gunzip(z_stream *stream) { return inflateInit2(stream, 15 + 16); }

// So is deflateInit2. 8 is zlib's usual memory level.
static inline int czlib_begin_gzip(z_stream *stream, int level) {
  return deflateInit2(stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}

#endif
