import Testing

@testable import TandemDigests

@Suite("SHA-256")
struct SHA256DigestTests {
  @Test(
    "the examples of FIPS 180-4 have their digests",
    arguments: [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
      (
        String(repeating: "a", count: 1_000_000),
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
      ),
    ])
  func examples(text: String, digest: String) {
    #expect("\(SHA256Digest(of: text.utf8))" == digest)
  }

  @Test("The examples of RFC 4231 have their keyed digests")
  func keyed() throws {
    func digest(_ message: [UInt8], _ key: [UInt8]) -> String {
      "\(SHA256Digest(of: message, key: key))"
    }
    func repeated(_ byte: UInt8, _ count: Int) -> [UInt8] { [UInt8](repeating: byte, count: count) }
    #expect(
      digest(Array("Hi There".utf8), repeated(0x0B, 20))
        == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
    #expect(
      digest(Array("what do ya want for nothing?".utf8), Array("Jefe".utf8))
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    #expect(
      digest(
        Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8), repeated(0xAA, 131))
        == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
  }

  @Test("content in any two pieces has the digest of the whole", arguments: 0...130)
  func pieces(count: Int) {
    let content = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37) }
    for cut in 0...count {
      var hash = SHA256()
      content[..<cut].withUnsafeBytes { hash.update($0) }
      content[cut...].withUnsafeBytes { hash.update($0) }
      #expect(hash.finalized() == SHA256Digest(of: content))
    }
  }

  @Test("a digest is read in either case, and only from 64 hexadecimal digits")
  func reading() {
    let digest = SHA256Digest(of: [1, 2, 3])
    #expect(SHA256Digest(hexadecimal: "\(digest)") == digest)
    #expect(SHA256Digest(hexadecimal: "\(digest)".uppercased()) == digest)
    #expect(SHA256Digest(hexadecimal: String("\(digest)".dropLast())) == nil)
    #expect(SHA256Digest(hexadecimal: "\(digest)0") == nil)
    #expect(SHA256Digest(hexadecimal: "g" + "\(digest)".dropFirst()) == nil)
    #expect(SHA256Digest(hexadecimal: "") == nil)
  }
}
