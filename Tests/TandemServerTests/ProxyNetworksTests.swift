import Testing

@testable import TandemServer

@Suite(.timeLimit(.minutes(20))) struct ProxyNetworksTests {
  @Test(
    "A client behind proxies is the last address that is none of theirs",
    arguments: [
      // The networks, the address of the connection, the fields, the client.
      ("", "127.0.0.1", ["203.0.113.7"], "127.0.0.1"),
      ("127.0.0.1", "127.0.0.1", ["203.0.113.7"], "203.0.113.7"),
      ("127.0.0.1", "127.0.0.1", [], "127.0.0.1"),
      // A stranger's word does not count, nor what a stranger has told a proxy.
      ("127.0.0.1", "198.51.100.1", ["203.0.113.7"], "198.51.100.1"),
      ("127.0.0.1", "127.0.0.1", ["9.9.9.9, 203.0.113.7"], "203.0.113.7"),
      ("127.0.0.1", "127.0.0.1", ["127.0.0.1, 203.0.113.7"], "203.0.113.7"),
      ("127.0.0.1", "127.0.0.1", ["9.9.9.9", "203.0.113.7"], "203.0.113.7"),
      ("127.0.0.1,10.0.0.0/8", "127.0.0.1", ["9.9.9.9,203.0.113.7, 10.255.0.1 "], "203.0.113.7"),
      ("10.0.0.0/8", "11.0.0.1", ["203.0.113.7"], "11.0.0.1"),
      ("10.16.0.0/12", "10.31.9.9", ["203.0.113.7"], "203.0.113.7"),
      ("10.16.0.0/12", "10.32.0.1", ["203.0.113.7"], "10.32.0.1"),
      ("0.0.0.0/0", "10.0.0.1", ["203.0.113.7"], "203.0.113.7"),
      ("0.0.0.0/0", "fd00::1", ["203.0.113.7"], "fd00::1"),
      ("fd00::/8,::1", "::1", ["2001:DB8:0::1, FD12::7"], "2001:db8::1"),
      ("fe80::/10", "fe80::1%eth0", ["[2001:db8::1]:4711"], "2001:db8::1"),
      ("127.0.0.1", "127.0.0.1", ["203.0.113.7:4711"], "203.0.113.7"),
      ("127.0.0.1", "127.0.0.1", ["::ffff:203.0.113.7"], "203.0.113.7"),
      // Nobody knows: the proxy itself.
      ("127.0.0.1", "127.0.0.1", ["203.0.113.7, unknown"], "127.0.0.1"),
      ("127.0.0.1", "127.0.0.1", ["203.0.113.7,"], "127.0.0.1"),
      ("127.0.0.1", "127.0.0.1", ["203.0.113.7 127.0.0.1"], "127.0.0.1"),
    ])
  func clients(networks: String, peer: String, fields: [String], client: String) throws {
    let networks = try networks.isEmpty ? ProxyNetworks() : #require(ProxyNetworks(networks))
    #expect(
      networks.client(
        behind: peer, [("Forwarded", "for=8.8.8.8")] + fields.map { ("x-forwarded-for", $0) })
        == client)
    #expect(networks.client(behind: nil, []) == nil)
  }

  @Test(
    "What is no network is refused",
    arguments: ["", "localhost", "10.0.0.0/33", "fd00::/129", "10.0.0.0/-1", "10.0.0.0/", "1,,2"])
  func faults(text: String) { #expect(ProxyNetworks(text) == nil) }

  @Test("The log and the responder have the address of the client behind a proxy")
  func server() async throws {
    for proxies in ["127.0.0.1", "127.0.0.2"] {
      let networks = try #require(ProxyNetworks(proxies))
      try await TestHTTP.with(.patient, proxies: networks) { http in
        let connection = try http.connect()
        await connection.send(
          "GET /address HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.2.3.4, 203.0.113.7\r\n\r\n")
        let answer = try #require(await connection.answer())
        let expected = proxies == "127.0.0.1" ? "203.0.113.7" : "127.0.0.1"
        #expect(String(decoding: answer.body, as: UTF8.self) == expected)
        while http.log.all.isEmpty { await Task.yield() }
        #expect(http.log.all[0].address == expected)
      }
    }
  }
}
