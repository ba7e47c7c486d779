#if canImport(Darwin)
  /// The client that suits the platform: URLSession here, libcurl on Linux, with the same promises.
  public typealias SystemHTTPClient = URLSessionHTTPClient
  typealias SystemParser = FoundationParser
#elseif canImport(CCurl)
  /// The client that suits the platform: libcurl here, URLSession on Apple platforms, with the same
  /// promises.
  public typealias SystemHTTPClient = CurlHTTPClient
  typealias SystemParser = CurlParser
#endif
