import Foundation
import Tandem
import TestFolder
import TestTool
import Testing

@testable import TandemCLI

@Suite("The configuration of tandem serve", .timeLimit(.minutes(20)))
struct ServeConfigurationTests: ShellSuite {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private typealias Option = ServeCommand.Option

  private func arguments(
    _ words: [String] = [], _ environment: [(name: String, text: String)] = []
  ) throws -> (values: ParsedArguments, faults: [String]) {
    var values = try ParsedArguments(words, for: ServeCommand.specification)
    let faults = values.addSettings(
      fileOption: Option.config, besides: [Option.checkConfig], environment: environment)
    return (values, faults)
  }

  @Test("Every option has a variable and a key, with the value that the command line would give it")
  func everyOption() throws {
    let options = ServeCommand.specification.options.filter {
      !["config", "check-config"].contains($0.name)
    }
    #expect(options.count > 20)
    for option in options {
      let candidates = ["1000", "127.0.0.1:1", "text", "info", "RS256", "127.0.0.1", "x"]
      let text =
        option.placeholder == nil
        ? "true" : try #require(candidates.first { (try? option.read($0)) != nil })
      let variable = "TANDEM_SERVE_" + option.name.uppercased().replacing("-", with: "_")
      let ofVariable = try arguments([], [(variable, text)])
      #expect(ofVariable.faults.isEmpty && ofVariable.values.has(option), "\(variable)")
      let json = option.placeholder == nil || Int(text) != nil ? text : "\"\(text)\""
      let file = try folder.write("{\"\(option.name)\":\(json)}", to: "serve.json")
      let ofFile = try arguments(["--config", file])
      #expect(ofFile.faults.isEmpty && ofFile.values.has(option), "\(json)")
      let words = option.placeholder == nil ? ["--\(option.name)"] : ["--\(option.name)", text]
      #expect(try arguments(words).values.has(option))
    }
  }

  @Test("The command line comes first, then variables, then the file")
  func precedence() throws {
    let file = try folder.write(
      #"{"max-requests":3,"max-spaces":"3","max-bodies":"3k","idle-time":0.5,"inspect":true,"json":true}"#,
      to: "serve.json")
    let (values, faults) = try arguments(
      ["--max-requests", "1"],
      [
        ("TANDEM_SERVE_CONFIG", file), ("TANDEM_SERVE_INSPECT", "false"),
        ("TANDEM_SERVE_MAX_REQUESTS", "2"), ("TANDEM_SERVE_MAX_SPACES", "2"),
        ("TANDEM_TOKEN", "not of serve"), ("OTHER", "x"),
      ])
    #expect(faults.isEmpty)
    #expect(values[Option.maxRequests] == 1)
    #expect(values[Option.maxSpaces] == 2)
    #expect(values[Option.maxBodies] == 3 << 10)
    #expect(values[Option.idleTime] == .milliseconds(500))
    #expect(!values[Option.inspect] && values[Option.json])
  }

  @Test(
    "A fault in a file is named with its place, and with the nearest name",
    arguments: [
      (#"{"max-request":1}"#, "unknown key max-request; did you mean max-requests?"),
      (#"{"config":"x"}"#, "unknown key config"), (#"{"check-config":true}"#, "unknown key check"),
      (#"{"max-requests":0}"#, "the key max-requests: --max-requests takes a number from 1"),
      (#"{"max-requests":true}"#, "takes a string or a number"),
      (#"{"inspect":"yes"}"#, "--inspect takes true or false"), (#"{"tokens":""}"#, "it is empty"),
      (#"{"tokens":null}"#, "takes a string"), (#"{"data":["a"]}"#, "takes a string"),
      (#"{"data":"a","data":"b"}"#, "twice"), ("[]", "is not a JSON object"),
      ("data = 1", "is not JSON"), ("", "is not JSON"),
    ])
  func faults(text: String, part: String) throws {
    let file = try folder.write(text, to: "serve.json")
    let faults = try arguments(["--config", file]).faults
    #expect(faults.count == 1 && faults[0].hasPrefix(file) && faults[0].contains(part), "\(faults)")
  }

  @Test("A variable with a mistake stops the server before it serves")
  func wrongVariables() async throws {
    for (variable, part) in [
      (
        "TANDEM_SERVE_TOKEN=x",
        "unknown variable TANDEM_SERVE_TOKEN; did you mean TANDEM_SERVE_TOKENS?"
      ),
      ("TANDEM_SERVE_TOKENS=", "the variable TANDEM_SERVE_TOKENS: it is empty"),
      ("TANDEM_SERVE_LISTEN=x", "the variable TANDEM_SERVE_LISTEN: --listen takes HOST:PORT"),
      ("TANDEM_SERVE_INSPECT=yes", "--inspect takes true or false"),
      ("TANDEM_SERVE_CONFIG=nothing", "cannot read nothing"),
    ] {
      let result = try await shell("\(variable) $tandem serve --data spaces", status: 2)
      #expect(result.error.contains(part) && result.output.isEmpty, "\(result.error)")
      #expect(folder.files().isEmpty)
    }
  }

  @Test("--check-config names all faults, and serves and changes nothing")
  func checking() async throws {
    try folder.write("no tokens", to: "tokens")
    try folder.write("no certificate", to: "cert.pem")
    try folder.write(
      #"{"tls-cert":"cert.pem","tls-key":"key.pem","tokens":"tokens","lisen":"x"}"#,
      to: "serve.json")
    let result = try await shell(
      "TANDEM_SERVE_MAX_SPACES=0 $tandem serve --config serve.json --data a/b/c --check-config",
      status: 1)
    let lines = result.error.split(separator: "\n")
    try #require(lines.count == 5, "\(result.error)")
    for (line, part) in zip(
      lines,
      [
        "MAX_SPACES", "did you mean listen?", "line 1 is not",
        "cannot write into the directory a/b", "cannot read key.pem",
      ])
    {
      #expect(line.contains(part), "\(line)")
    }
    #expect(result.output.isEmpty && folder.files().count == 3)
    let others = try await shell(
      """
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=a \
        -keyout key.pem -out cert.pem 2>/dev/null
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=a \
        -keyout other.pem -out unused.pem 2>/dev/null
      $tandem serve --check-config --tls-cert cert.pem --tls-key other.pem
      $tandem serve --check-config --listen 0.0.0.0:0
      $tandem serve --check-config --max-store-connections 4
      """, status: 1)
    let faults = others.error.split(separator: "\n")
    try #require(faults.count == 3, "\(others.error)")
    #expect(faults[0].contains("belong together") && faults[1].contains("--tokens"))
    #expect(faults[2].contains("--max-store-connections belong to --store"))
    #expect(others.output.isEmpty)
    // An expired certificate is no fault.
    let expired = try await shell(
      """
      openssl req -new -key key.pem -subj /CN=a -out request 2>/dev/null
      openssl x509 -req -in request -signkey key.pem -days -1 -out cert.pem 2>/dev/null
      $tandem serve --check-config --tls-cert cert.pem --tls-key key.pem
      """)
    #expect(
      expired.error.contains("warning: the certificate has expired at 20"), "\(expired.error)")
    let open = try await shell(
      """
      rm tokens; $tandem token create --tokens tokens --account ada --space s >token
      $tandem serve --check-config --tokens tokens --listen 0.0.0.0:0
      """)
    #expect(open.error.contains("warning: without --tls-cert"), "\(open.error)")
    // One bad line does not stop a server, but it is a fault.
    let line = try await shell(
      """
      echo bad >>tokens
      $tandem serve --check-config --tokens tokens
      """, status: 1)
    #expect(line.error.contains("tokens: line 3 is not"), "\(line.error)")
  }

  @Test("--check-config does not disturb a server with the same configuration")
  func besideServer() async throws {
    let data = folder.path(of: "spaces")
    let file = try folder.write(#"{"data":"\#(data)","listen":"127.0.0.1:0"}"#, to: "serve.json")
    let tool = try RunningTool(
      ["TANDEM_SERVE_CONFIG=\(file)", "TANDEM_SERVE_JSON=true", Tool.path, "serve"],
      executable: "/usr/bin/env")
    let line = try #require(await tool.line())
    #expect(line.hasPrefix(#"{"event":"listening""#))
    let port = try #require(line.split { !$0.isNumber }.last)
    let result = try await shell(
      "$tandem serve --config serve.json --listen 127.0.0.1:\(port) --check-config")
    #expect(result.output == "the configuration has no faults\n" && result.error.isEmpty)
    tool.signal(SIGTERM)
    #expect(await tool.end() == 0)
  }

  @Test("A password of the store stands in a variable or a file of its owner, and is never printed")
  func passwords() async throws {
    let address = "postgresql://u:secretword@/d?host=\(folder.path)/none"
    try folder.write(#"{"store":"\#(address)"}"#, to: "serve.json")
    let result = try await shell(
      """
      check="$tandem serve --check-config"
      $check --store '\(address)'; chmod 644 serve.json; $check --config serve.json
      chmod 600 serve.json; $check --config serve.json; TANDEM_SERVE_STORE='\(address)' $check
      TANDEM_SERVE_STORE='postgresql://u:secretword@[x/d' $check
      """, status: 1)
    let lines = result.error.split(separator: "\n").filter { $0.hasPrefix("tandem: ") }
    try #require(lines.count == 5, "\(result.error)")
    for line in lines[..<2] { #expect(line.contains("is visible to other users"), "\(line)") }
    for line in lines[2...] { #expect(!line.contains("visible"), "\(line)") }
    #expect(!result.error.contains("secretword"), "\(result.error)")
  }
}
