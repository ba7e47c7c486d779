internal import TandemHTTP

/// The secrets that a list is asked for with, to be recognised where a server repeats them.
struct ListSecrets {
  private let texts: [[UInt8]]

  /// The fewest bytes of a secret: anything shorter is in many an address by chance.
  static let minByteCount = 4

  /// Those in the fields that not any server may see, and the password in the address, or what stands
  /// in its place.
  init(url: String, fields: HTTPFields) {
    var texts: [[UInt8]] = []
    for field in fields where !HTTPRequest.isPublic(field.name) {
      texts.append(Array(field.value.utf8))
      // What comes first is a name: of a scheme, as in "Bearer …", or of a cookie.
      let parts = field.value.split { " ;=".contains($0) }.dropFirst()
      texts += parts.map { Array($0.utf8) }
    }
    if let password = HTTPURL.password(in: url) {
      texts += [Array(password.utf8), HTTPURL.percentDecoded(password)]
    }
    self.texts = texts.filter { $0.count >= Self.minByteCount }
  }

  /// Whether one of them is in an address, as it is or percent-encoded.
  func areRepeated(in url: String) -> Bool {
    let forms = [Array(url.utf8), HTTPURL.percentDecoded(url)]
    return texts.contains { text in forms.contains { $0.contains(text) } }
  }
}
