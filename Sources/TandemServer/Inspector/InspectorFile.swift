/// A file of the inspector's page. The files are part of the program.
enum InspectorFile: CaseIterable {
  case page, style, script

  /// The file at an address; `nil` if there is none.
  init?(path: String) {
    guard let file = Self.allCases.first(where: { $0.path == path }) else { return nil }
    self = file
  }

  private var path: String {
    switch self {
    case .page: Inspector.path
    case .style: "\(Inspector.path)/inspector.css"
    case .script: "\(Inspector.path)/inspector.js"
    }
  }

  /// The page runs nothing but its own script, and sends data to its own server only.
  private static let policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

  /// The answer with the file.
  var answer: HTTPAnswer {
    var answer =
      switch self {
      case .page:
        HTTPAnswer(type: "text/html; charset=utf-8", PackageResources.inspector_html)
      case .style: HTTPAnswer(type: "text/css; charset=utf-8", PackageResources.inspector_css)
      case .script:
        HTTPAnswer(type: "text/javascript; charset=utf-8", PackageResources.inspector_js)
      }
    answer.fields += [
      ("Content-Security-Policy", Self.policy), ("X-Content-Type-Options", "nosniff"),
      ("Referrer-Policy", "no-referrer"), ("Cache-Control", "no-store"),
    ]
    return answer
  }
}
