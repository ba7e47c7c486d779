internal import SystemLibrary
internal import TandemRecords

#if canImport(CCrypto)
  internal import CCrypto
#endif

extension HTTPServer.Identity {
  /// A warning that clients refuse the certificate, or one of its issuers, because of its dates; `nil` if they do not, or if
  /// the dates cannot be read.
  package var warning: String? { warning(at: Int(WallClock.seconds())) }

  /// - Parameter now: The seconds since 1970.
  func warning(at now: Int) -> String? {
    for (number, dates) in certificateDates.enumerated() {
      let name = number == 0 ? "the certificate" : "certificate \(number + 1) of the chain"
      if now > dates.end { return "\(name) has expired at \(TimeText.text(seconds: dates.end))" }
      if now < dates.begin {
        return "\(name) is not valid before \(TimeText.text(seconds: dates.begin))"
      }
    }
    return nil
  }

  #if canImport(CCrypto)
    /// The dates of the certificates, in seconds since 1970.
    private var certificateDates: [(begin: Int, end: Int)] {
      var all: [(begin: Int, end: Int)] = []
      certificate.withUnsafeBytes { bytes in
        guard let file = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else { return }
        defer { BIO_free(file) }
        while let certificate = PEM_read_bio_X509(file, nil, nil, nil) {
          defer { X509_free(certificate) }
          guard let begin = Self.seconds(X509_get0_notBefore(certificate)),
            let end = Self.seconds(X509_get0_notAfter(certificate))
          else { continue }
          all.append((begin, end))
        }
        // The end of the file is an error of the library, too.
        ERR_clear_error()
      }
      return all
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int? {
      var fields = tm()
      guard ASN1_TIME_to_tm(time, &fields) == 1 else { return nil }
      return timegm(&fields)
    }
  #else
    private var certificateDates: [(begin: Int, end: Int)] { [] }
  #endif
}
