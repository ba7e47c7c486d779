import Testing

@testable import TandemHTTP

@Suite("Link fields")
struct LinkHeaderTests {
  @Test(
    "the next page is found among all kinds of links",
    arguments: [
      (#"<https://a.example/?p=2>; rel="next""#, "https://a.example/?p=2"),
      (#"</a>; rel=prev, </b>; rel=next"#, "/b"),
      (#"</a,b;c>; title="x, <y>; rel=next \" z"; rel="last next""#, "/a,b;c"),
      (#"  </x> ;REL = "NEXT" "#, "/x"),
      (#"</a>; rel=prev; rel=next, </b>; rel="next""#, "/b"),
      (#"</a>; rel=next; anchor="/other", </b>; rel=next"#, "/b"),
      (#",, </a>; crossorigin; rel=next"#, "/a"),
      (#"<>; rel=next"#, ""), (#"</a>; rel='next'"#, "/a"),
      (#"</a>; title='x'; rel='last next', </b>; rel='prev'"#, "/a"),
      (#"</s.css>; rel=preload; as=style junk, </b>; rel="next""#, "/b"),
      (#"garbage, </a>; rel=next"#, "/a"),
      (#"garbage "x, <y>; rel=next", </a>; rel=next"#, "/a"),
      (#"</a>; rel=prev </b>; rel=next"#, "/b"),
      (#"</a>; rel="next"; results="true"; cursor="0:100:0""#, "/a"),
    ])
  func next(field: String, target: String) {
    #expect(LinkHeader(field).next == target)
  }

  @Test(
    "an invalid Link field names no next page",
    arguments: [
      "", "</a>", "</a>; rel=prev", #"</a>; title="rel=next""#, "</a>; rel=nextpage",
      #"</a>; rel="#, #"</a>; rel="""#, ", </a>; rel=x ,\t, </b> ; rel=y,",
      #"</a>; rel="next"; results="false"; cursor="0:0:0""#,
    ])
  func none(field: String) {
    #expect(LinkHeader(field).next == nil && LinkHeader(field).isWhole)
  }

  @Test(
    "what is no link is noticed",
    arguments: [
      "next", "</a; rel=next", "</a>; rel=prev; title=x y", #"</a>; title="rel=next"#,
      #"</a>; rel="prev" <"#, "</a> rel=next", #"</a>; rel=""#,
    ])
  func defects(field: String) {
    #expect(LinkHeader(field).next == nil && !LinkHeader(field).isWhole)
  }

  @Test("a text that is cut off anywhere is read without harm")
  func cuts() {
    let text = #"</a>; rel=prev; title="x \" y", </b>; rel="next""#
    for count in 0...text.count { _ = LinkHeader(String(text.prefix(count))).links }
    #expect(LinkHeader(text).links.count == 2)
  }
}
