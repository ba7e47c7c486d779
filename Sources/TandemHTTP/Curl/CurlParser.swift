#if canImport(CCurl) && !canImport(Darwin)
  import CCurl

  /// The parsers of libcurl.
  enum CurlParser {
    /// The parts of a URL, by the rules that libcurl sends requests by; `nil` if it has no host or
    /// cannot be parsed. `text` must not contain NUL.
    static func url(_ text: String, relativeTo base: String?) -> HTTPURL? {
      guard let handle = curl_url() else { preconditionFailure("out of memory for a URL") }
      defer { curl_url_cleanup(handle) }
      let flags = UInt32(CURLU_NON_SUPPORT_SCHEME)
      if let base, curl_url_set(handle, CURLUPART_URL, base, flags) != CURLUE_OK { return nil }
      guard curl_url_set(handle, CURLUPART_URL, text, flags) == CURLUE_OK else { return nil }
      func part(_ part: CURLUPart) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, 0) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
      }
      guard let scheme = part(CURLUPART_SCHEME) else { return nil }
      var host = part(CURLUPART_HOST) ?? ""
      if !host.utf8.allSatisfy({ $0 < 0x80 }) { host = asciiHost(of: handle) ?? host }
      if host.hasSuffix("]"), let zone = part(CURLUPART_ZONEID) {
        host = "\(host.dropLast())%25\(zone)]"
      }
      return HTTPURL(
        scheme: scheme.lowercased(), user: part(CURLUPART_USER), password: part(CURLUPART_PASSWORD),
        host: host, port: part(CURLUPART_PORT), path: part(CURLUPART_PATH) ?? "",
        query: part(CURLUPART_QUERY))
    }

    /// The host in the form of the domain name system, as servers name themselves; `nil` for a name that has
    /// no such form.
    private static func asciiHost(of handle: OpaquePointer) -> String? {
      var text: UnsafeMutablePointer<CChar>?
      guard ccurl_get_ascii_host(handle, &text) == CURLUE_OK, let text else { return nil }
      defer { curl_free(text) }
      return String(cString: text)
    }

    /// The moment that `text` names, in seconds since 1970; `nil` if it is no date.
    static func date(_ text: String) -> Int64? {
      let seconds = curl_getdate(text, nil)
      return seconds == -1 ? nil : Int64(seconds)
    }
  }
#endif
