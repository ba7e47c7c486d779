import Testing

@testable import TandemServer

@Suite struct ClientRatesTests {
  private static let start = ContinuousClock.now

  private static func limits(
    rate: Int? = nil, failures: Int? = nil
  ) -> SyncService.Limits {
    var limits = SyncService.Limits()
    limits.maxRequestRate = rate
    limits.maxFailureCount = failures
    return limits
  }

  @Test("Ten seconds' worth of requests may come at once, then the rate is that of the limit")
  func rate() {
    var rates = ClientRates(Self.limits(rate: 4))
    var now = Self.start
    func pause(_ client: String) -> Duration? { rates.pause(before: client, at: now) }
    for _ in 0..<40 { #expect(pause("a") == nil) }
    for _ in 0..<3 { #expect(pause("a") == .milliseconds(250)) }
    #expect(pause("b") == nil)
    // The pause is exact, and a refused request costs nothing.
    now += .milliseconds(249)
    #expect(pause("a") == .milliseconds(1))
    now += .milliseconds(1)
    #expect(pause("a") == nil)
    #expect(pause("a") != nil)
    // At the permitted rate, none is refused, and in no ten seconds are there more than twice the limit.
    for _ in 0..<1_000 {
      now += .milliseconds(250)
      #expect(pause("a") == nil)
    }
    now += .seconds(10)
    for _ in 0..<40 { #expect(pause("a") == nil) }
    #expect(pause("a") != nil)
  }

  @Test("Wrong tokens without a pause ban their address for a time, and no other one")
  func bans() {
    var rates = ClientRates(Self.limits(failures: 3))
    var now = Self.start
    func isBannedAfterFailure() -> Bool { rates.isBanned(afterFailureOf: "a", at: now) }
    #expect(!isBannedAfterFailure())
    now += .seconds(599)
    #expect(!isBannedAfterFailure())
    now += .seconds(600)
    // The pause was long enough.
    for count in 1...3 {
      #expect(rates.ban(of: "a", at: now) == nil)
      #expect(isBannedAfterFailure() == (count == 3))
    }
    #expect(rates.ban(of: "a", at: now) == .seconds(600) && rates.ban(of: "b", at: now) == nil)
    #expect(rates.ban(of: "a", at: now + .seconds(599)) == .seconds(1))
    #expect(rates.ban(of: "a", at: now + .seconds(600)) == nil)
    // Requests that were under way at the ban do not announce it again.
    #expect(!isBannedAfterFailure())
    now += .seconds(700)
    #expect(!isBannedAfterFailure())
  }

  @Test(
    "A table forgets what has expired, then what would expire first, and never exceeds its limit")
  func memory() {
    var table = ExpiringTable<Int>(maxCount: 10)
    let now = Self.start
    for number in 0..<1_000 {
      table.set(number, of: "\(number)", until: now + .seconds(number + 1), at: now)
      #expect(table.count <= 10)
      #expect(table.entry(of: "\(number)", at: now)?.value == number)
      if number > 5 { #expect(table.entry(of: "\(number - 4)", at: now)?.value == number - 4) }
    }
    let later = now + .seconds(2_000)
    for number in 0..<11 {
      table.set(number, of: "new \(number)", until: later + .seconds(1), at: later)
    }
    #expect((0..<10).contains { table.entry(of: "new \($0)", at: later) != nil })
    #expect(table.entry(of: "999", at: later) == nil && table.count <= 11)
  }

  @Test(
    "The addresses of an IPv6 network of 64 bits are one client",
    arguments: [
      ("2001:db8:1:2:3:4:5:6", "20010db800010002/64"), ("2001:db8:1:2::9", "20010db800010002/64"),
      ("fe80::1%eth0", "fe80000000000000/64"), ("203.0.113.7", "203.0.113.7"),
    ])
  func networks(address: String, network: String) {
    #expect(clientNetwork(of: address) == network)
  }

  private static let tokens = [AccessToken.of("secret", "ada", .write, ["notes"])]

  @Test("A banned address gets 429 and a time, also with a right token; others are served")
  func bannedAddress() async throws {
    let test = try TestService(tokens: Self.tokens, limits: Self.limits(failures: 3))
    func status(_ secret: String?, _ address: String, path: String = "/v1/spaces") async -> Int {
      await test.answer("GET", path, secret: secret, address: address).status
    }
    for _ in 0..<5 { #expect(await status(nil, "2001:db8::1") == 401) }
    #expect(await status("secret", "2001:db8::1") == 200)
    for number in 1...3 { #expect(await status("wrong", "2001:db8::\(number)") == 401) }
    let answer = await test.answer("GET", "/v1/spaces", secret: "secret", address: "2001:db8::4")
    #expect(answer.code == "tooManyRequests")
    #expect(
      answer.field("Retry-After").flatMap { Int($0) }.map { (590...600).contains($0) } == true)
    #expect(await status(nil, "2001:db8::1", path: "/v1/openapi.json") == 429)
    #expect(await status(nil, "2001:db8::1", path: "/healthz") == 200)
    #expect(await status("secret", "2001:db8:0:1::1") == 200)
    #expect(test.log.count == 1 && test.log[0].address == "2001:db8::3")
    #expect(test.log[0].message.contains("banned for 600 s"))
  }

  @Test("An account has its rate from all addresses, and an address has it for all accounts")
  func rates() async throws {
    let tokens = Self.tokens + [AccessToken.of("other", "bob", .read, ["notes"])]
    let test = try TestService(tokens: tokens, limits: Self.limits(rate: 1))
    func status(_ secret: String, _ address: String) async -> Int {
      await test.answer("GET", "/v1/spaces", secret: secret, address: address).status
    }
    for number in 0..<10 { #expect(await status("secret", "10.0.0.\(number)") == 200) }
    #expect(await status("secret", "10.0.0.99") == 429)
    for _ in 0..<10 { #expect(await status("other", "10.0.1.1") == 200) }
    #expect(await status("wrong", "10.0.1.1") == 429)
    #expect(await status("wrong", "10.0.1.2") == 401)
  }
}
