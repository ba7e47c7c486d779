import SystemLibrary
import Testing

@testable import TandemLinks

struct SocketFailureTests {
  @Test("only what concerns the listener itself ends it")
  func accepting() {
    for code in [EINTR, EAGAIN, ECONNABORTED, EPROTO, ENETDOWN] {
      #expect(AcceptFailure(code) == .connection)
    }
    for code in [EMFILE, ENFILE, ENOBUFS, ENOMEM] { #expect(AcceptFailure(code) == .resources) }
    for code in [EBADF, EINVAL, ENOTSOCK, EFAULT] { #expect(AcceptFailure(code) == .listener) }
  }

  @Test("a family of addresses that the machine does not have is passed over")
  func families() {
    var name = sockaddr()
    withUnsafeMutablePointer(to: &name) { name in
      var known = addrinfo()
      known.ai_family = AF_INET
      known.ai_addr = name
      withUnsafeMutablePointer(to: &known) { known in
        var unknown = addrinfo()
        unknown.ai_family = 9_999
        unknown.ai_addr = name
        unknown.ai_next = known
        withUnsafeMutablePointer(to: &unknown) { unknown in
          var count = 0
          let descriptor = SystemSockets.openFirst(of: unknown) { _, _, _ in
            count += 1
            return true
          }
          #expect(descriptor != nil && count == 1)
          #expect(SystemSockets.openFirst(of: known) { _, _, _ in false } == nil)
        }
      }
    }
  }
}
