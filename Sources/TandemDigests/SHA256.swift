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
  #endif
}
