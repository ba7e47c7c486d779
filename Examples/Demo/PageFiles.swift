import TandemServer

/// The files of the page, which are part of the program.
enum PageFiles {
  private static let files: [String: (type: String, bytes: [UInt8])] = [
    "/": ("text/html; charset=utf-8", PackageResources.index_html),
    "/page.css": ("text/css", PackageResources.page_css),
    "/phone.css": ("text/css", PackageResources.phone_css),
    "/server.css": ("text/css", PackageResources.server_css),
    "/announce.js": ("text/javascript", PackageResources.announce_js),
    "/conflicts.js": ("text/javascript", PackageResources.conflicts_js),
    "/demo.js": ("text/javascript", PackageResources.demo_js),
    "/events.js": ("text/javascript", PackageResources.events_js),
    "/land.js": ("text/javascript", PackageResources.land_js),
    "/map.js": ("text/javascript", PackageResources.map_js),
    "/panel.js": ("text/javascript", PackageResources.panel_js),
    "/phone.js": ("text/javascript", PackageResources.phone_js),
    "/projection.js": ("text/javascript", PackageResources.projection_js),
    "/ranking.js": ("text/javascript", PackageResources.ranking_js),
    "/server.js": ("text/javascript", PackageResources.server_js),
  ]

  /// The page needs nothing from other servers but its phones, which are on this machine.
  private static let policy =
    "default-src 'self'; img-src data:; connect-src 'self' http://127.0.0.1:*; frame-ancestors 'none'"

  static func reply(to path: String) -> Site.Reply {
    guard let (type, bytes) = files[path] else { return .missing }
    return .answer(
      HTTPAnswer(
        status: 200, fields: [("Content-Type", type), ("Content-Security-Policy", policy)],
        content: .bytes(bytes)))
  }
}
