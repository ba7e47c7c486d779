import Foundation
import Testing

@testable import TandemServer

@Suite struct DashboardTests {
  @Test("The dashboard names only metrics that a server gives, and most of those that it gives")
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
    for line in ServerMetrics(version: "1.2.3").text.split(separator: "\n")
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
    #expect(named.count * 4 > given.count * 3)
  }
}
