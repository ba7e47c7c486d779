internal import SystemLibrary

/// The functions of librhonabwy that check signatures (https://github.com/babelouest/rhonabwy). The library is loaded
/// when the first keys are, so that servers with access tokens of their own do not need it.
///
/// Unchecked: everything is set once. Each check has its own objects of the library.
struct SignatureLibrary: @unchecked Sendable {
  private typealias Object = UnsafeMutableRawPointer
  private typealias Text = UnsafePointer<CChar>
  private typealias Create = @convention(c) (UnsafeMutablePointer<Object?>) -> Int32
  private typealias Free = @convention(c) (Object?) -> Void

  /// No keys from the header of a token, and no token without a signature.
  private static let parseNothingElse: UInt32 = 0
  /// No keys from the network.
  private static let ignoreRemote: Int32 = 0x100
  private static let names = ["librhonabwy.so.1.1", "librhonabwy.so.1", "librhonabwy.dylib"]
  private static let loaded = SignatureLibrary()

  private let createKey: Create
  private let freeKey: Free
  private let importKey: @convention(c) (Object, Text) -> Int32
  private let createToken: Create
  private let freeToken: Free
  private let parseToken: @convention(c) (Object, Text, UInt32, Int32) -> Int32
  private let verify: @convention(c) (Object, Object, Int32) -> Int32

  /// The library of this machine.
  ///
  /// - Throws: ``ServerError`` with code `keys`.
  static func load() throws(ServerError) -> SignatureLibrary {
    guard let loaded else {
      throw ServerError(
        .keys,
        "the library that checks signatures (librhonabwy, version 1.1) is missing; install it, on Debian by: "
          + "apt-get install librhonabwy1.1")
    }
    return loaded
  }

  private init?() {
    guard let handle = Self.names.lazy.compactMap({ dlopen($0, RTLD_NOW | RTLD_LOCAL) }).first,
      let initialize = dlsym(handle, "r_global_init"),
      let createKey = dlsym(handle, "r_jwk_init"), let freeKey = dlsym(handle, "r_jwk_free"),
      let importKey = dlsym(handle, "r_jwk_import_from_json_str"),
      let createToken = dlsym(handle, "r_jws_init"), let freeToken = dlsym(handle, "r_jws_free"),
      let parseToken = dlsym(handle, "r_jws_advanced_parse"),
      let verify = dlsym(handle, "r_jws_verify_signature")
    else { return nil }
    typealias Initialize = @convention(c) () -> Int32
    guard unsafeBitCast(initialize, to: Initialize.self)() == 0 else { return nil }
    self.createKey = unsafeBitCast(createKey, to: Create.self)
    self.freeKey = unsafeBitCast(freeKey, to: Free.self)
    self.importKey = unsafeBitCast(
      importKey, to: (@convention(c) (Object, Text) -> Int32).self)
    self.createToken = unsafeBitCast(createToken, to: Create.self)
    self.freeToken = unsafeBitCast(freeToken, to: Free.self)
    self.parseToken = unsafeBitCast(
      parseToken, to: (@convention(c) (Object, Text, UInt32, Int32) -> Int32).self)
    self.verify = unsafeBitCast(
      verify, to: (@convention(c) (Object, Object, Int32) -> Int32).self)
  }

  /// True if a key made the signature of a token.
  ///
  /// - Parameters:
  ///   - token: A token in the compact form.
  ///   - key: A key as JSON (RFC 7517), of the kind that the token's algorithm needs.
  func isSigned(_ token: String, by key: String) -> Bool {
    var keyObject: Object?
    var tokenObject: Object?
    defer {
      if keyObject != nil { freeKey(keyObject) }
      if tokenObject != nil { freeToken(tokenObject) }
    }
    guard createKey(&keyObject) == 0, let keyObject, importKey(keyObject, key) == 0,
      createToken(&tokenObject) == 0, let tokenObject
    else { return false }
    return parseToken(tokenObject, token, Self.parseNothingElse, Self.ignoreRemote) == 0
      && verify(tokenObject, keyObject, Self.ignoreRemote) == 0
  }

  /// True if the library can use a key.
  func accepts(_ key: String) -> Bool {
    var object: Object?
    defer { if object != nil { freeKey(object) } }
    return createKey(&object) == 0 && object.map { importKey($0, key) == 0 } ?? false
  }
}
