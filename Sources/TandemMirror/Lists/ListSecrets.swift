internal import TandemHTTP

/// The secrets in the requests for a list, to be found where a server repeats them.
struct ListSecrets {
  private let texts: [[UInt8]]

  /// The fewest bytes of a secret: shorter texts are in many addresses by chance.
  static let minByteCount = 4

  /// The secrets in the fields that not every server may see, and the password in the address, or the user
  /// name if there is no password.
  init(url: String, fields: HTTPFields) {
    var texts: [[UInt8]] = []
    for field in fields where !HTTPRequest.isPublic(field.name) {
      texts.append(Array(field.value.utf8))
      // The first part is a name: of a scheme, as in "Bearer …", or of a cookie.
      let parts = field.value.split { " ;=".contains($0) }.dropFirst()
      texts += parts.map { Array($0.utf8) }
    }
    if let password = HTTPURL.password(in: url) {
      texts += [Array(password.utf8), HTTPURL.percentDecoded(password)]
    }
    self.texts = texts.filter { $0.count >= Self.minByteCount }
  }

  /// True if one of them is in an address, as it is or percent-encoded.
  func areRepeated(in url: String) -> Bool {
    let forms = [Array(url.utf8), HTTPURL.percentDecoded(url)]
    return texts.contains { text in forms.contains { $0.contains(text) } }
  }
}
