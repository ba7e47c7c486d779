#if canImport(CryptoKit)
  internal import CryptoKit
#else
  internal import CCrypto
#endif

/// Computes the SHA-256 of bytes that arrive in pieces (FIPS 180-4), with the system's library:
/// OpenSSL's libcrypto on Linux, CryptoKit on Apple platforms.
package struct SHA256: ~Copyable {
  #if canImport(CryptoKit)
    private var hash = CryptoKit.SHA256()

    package init() {}

    /// Adds bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
      hash.update(bufferPointer: bytes)
    }

    /// The digest of all bytes added.
    package consuming func finalized() -> SHA256Digest { SHA256Digest(Array(hash.finalize())) }

    /// The first 16 bytes of the digest of some bytes, as a big-endian number. Bytes that were added
    /// before do not count.
    package mutating func leadingBits(of bytes: UnsafeRawBufferPointer) -> UInt128 {
      hash = CryptoKit.SHA256()
      hash.update(bufferPointer: bytes)
      return hash.finalize().withUnsafeBytes {
        UInt128(bigEndian: $0.loadUnaligned(as: UInt128.self))
      }
    }
  #else
    private let context: OpaquePointer

    /// The algorithm, which libcrypto would look for each time. It lives as long as the program.
    private nonisolated(unsafe) static let algorithm = EVP_MD_fetch(nil, "SHA256", nil)

    package init() {
      guard let context = EVP_MD_CTX_new() else {
        preconditionFailure("out of memory for the context of a digest")
      }
      self.context = context
      let status = EVP_DigestInit_ex(context, SHA256.algorithm, nil)
      precondition(status == 1, "libcrypto has no SHA-256; its configuration must not disable it")
    }

    deinit { EVP_MD_CTX_free(context) }

    /// Adds bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
      EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
    }

    /// The digest of all bytes added.
    package consuming func finalized() -> SHA256Digest {
      var digest = [UInt8](repeating: 0, count: SHA256Digest.byteCount)
      EVP_DigestFinal_ex(context, &digest, nil)
      return SHA256Digest(digest)
    }

    /// The first 16 bytes of the digest of some bytes, as a big-endian number. Bytes that were added
    /// before do not count. It may be called again; for many short texts, this is the fastest form.
    package mutating func leadingBits(of bytes: UnsafeRawBufferPointer) -> UInt128 {
      // Without an algorithm, the context begins again with the one that it has.
      EVP_DigestInit_ex(context, nil, nil)
      EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
      return withUnsafeTemporaryAllocation(
        byteCount: SHA256Digest.byteCount, alignment: 1
      ) { digest in
        EVP_DigestFinal_ex(context, digest.baseAddress, nil)
        return UInt128(bigEndian: digest.loadUnaligned(as: UInt128.self))
      }
    }
  #endif
}
