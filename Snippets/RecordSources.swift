import Tandem

/// The argument of a command: a path, "-" for standard input, or an http(s) address.
func summary(of argument: String) async -> String {
  let source = RecordSource(argument)
  do {
    let list = try await source.list(client: try SystemHTTPClient())
    guard case .records(let records, _, _) = list else { return "\(source): nothing new" }
    return "\(source): \(records.count) records"
  } catch {
    return "\(error)"  // The source, the record, and the remedy.
  }
}

for argument in CommandLine.arguments.dropFirst() { print(await summary(of: argument)) }
print(await summary(of: "missing.json"))
// missing.json: cannot be read: no such file or directory

// The HTTP client alone. Each request has a limit for its response.
do {
  let request = HTTPRequest(url: "http://127.0.0.1:1/places.json")
  let response = try await SystemHTTPClient().response(to: request, maxBodyByteCount: 1 << 20)
  try response.head.requireSuccess()
  print(response.body.count, "bytes")
} catch let error as TransportError where error.isTransient {
  print("try again later:", error.code)  // try again later: cannotConnect
}
