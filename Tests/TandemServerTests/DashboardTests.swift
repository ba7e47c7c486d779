import Foundation
import TestFolder
import Testing

@testable import TandemServer

@Suite struct DashboardTests {
  @Test("The dashboard names all metrics that servers give, and no others")
  func metrics() throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../packaging/grafana.json")
    let dashboard = try Data(contentsOf: path)
    let object = try #require(try JSONSerialization.jsonObject(with: dashboard) as? [String: Any])
    let panels = try #require(object["panels"] as? [[String: Any]])
    let expressions = panels.flatMap { $0["targets"] as? [[String: Any]] ?? [] }
      .compactMap { $0["expr"] as? String }
    #expect(!expressions.isEmpty)
    var given: [Substring: Substring] = [:]
    let folder = try TemporaryFolder()
    try Following.begin(folder.path, leader: "http://127.0.0.1:1")
    let metrics = ServerMetrics(
      version: "1.2.3", following: Following(leader: "http://127.0.0.1:1", in: folder.path))
    _ = try SpaceDirectory(path: folder.path(of: "spaces"), metrics: metrics)
    metrics.add { WebhookDelivery.gauges(waitingCount: 0, letterCount: 0) }
    metrics.add { PostgreSQLSpaces.gauges((0, 0)) }
    for line in metrics.text.split(separator: "\n")
    where line.hasPrefix("# TYPE ") {
      let words = line.split(separator: " ")
      given[words[2]] = words[3]
    }
    var named: Set<Substring> = []
    for expression in expressions {
      for word in expression.matches(of: /(?:tandem|process)_[a-z_]+/).map(\.output) {
        // The series of a histogram have names of their own.
        let base = word.hasSuffix("_bucket") ? word.dropLast("_bucket".count) : word
        #expect(given[base] != nil, "\(word)")
        #expect((given[base] == "histogram") == (base != word), "\(word)")
        named.insert(base)
      }
    }
    #if os(Linux)
      #expect(Set(given.keys).subtracting(named) == [])
    #endif
  }
}
