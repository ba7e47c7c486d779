import Testing

@testable import TandemServer

@Suite struct TokenRedactionTests {
  private static let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmno-_"
  private static let token = "tandem_\(letters)"

  @Test(
    "A token is removed from the path and the space, however it is encoded, and from the message")
  func requests() throws {
    for target in [
      "/v1/spaces/\(Self.token)", "/\(Self.token)/changes", "/%74andem_\(Self.letters)",
      "/%2574andem%255f\(Self.letters)", "/tandem_ABCDEFGHIJKLMNOPQRST%55VWXYZabcdefghijklmno-_",
      "/%zz/%74andem_\(Self.letters)/%", "/eyJ\(Self.letters).eyJ\(Self.letters).\(Self.letters)",
      "/%65yJ\(Self.letters)", String(repeating: "/a", count: 95) + "/%74andem_\(Self.letters)",
    ] {
      var event = ServerEvent(.info)
      event.add(method: Self.token, target: target)
      for text in [event.path ?? "", event.method ?? ""] {
        #expect(!text.contains("ABCDEF") && !text.contains("ghijkl"), "\(text)")
      }
    }
    var event = ServerEvent(.info, "there is no space \(Self.token); attach it", space: Self.token)
    event = event.redacted
    #expect(event.message == "there is no space tandem_…; attach it")
    #expect(event.space == "tandem_…")
  }

  @Test("Other texts stay as they are")
  func others() {
    for text in [
      "", "/v1/spaces/tandem_notes", "/a%20b%zz%", "eyJoe", "/srv/tandem_a/tandem_b", "é%C3",
    ] {
      #expect(TokenRedaction.redacted(text) == text)
    }
  }
}
