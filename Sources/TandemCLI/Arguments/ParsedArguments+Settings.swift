import Tandem
import TandemServer

#if canImport(Glibc)
  // For `environ`, which only this file reads.
  @preconcurrency import Glibc
#endif

// Options that are not on the command line have values from the environment, then from a file, then defaults.
extension ParsedArguments {
  /// The maximum length of a file of settings, in bytes.
  private static let maxFileByteCount = 1 << 20

  /// The variable that stands for an option, such as `TANDEM_SERVE_TLS_KEY`.
  static func variable(for name: String, of command: String) -> String {
    "TANDEM_\(command)_\(name)".uppercased().replacing("-", with: "_")
  }

  /// Adds the values of variables, and of the JSON object in the file that an option names.
  ///
  /// - Parameters:
  ///   - fileOption: The option with the path of the file. It may be given by a variable.
  ///   - others: Options that only a command line has.
  /// - Returns: The faults, each of which says where it is.
  mutating func addSettings(
    fileOption: ValueOption<String>, besides others: [any CommandOption],
    environment: [(name: String, text: String)] = ParsedArguments.environment()
  ) -> [String] {
    var settings = Settings(self)
    let options = command.options.filter { option in !others.contains { $0.name == option.name } }
    let variables = options.map { Self.variable(for: $0.name, of: command.name) }
    let prefix = Self.variable(for: "", of: command.name)
    for (name, text) in environment where name.hasPrefix(prefix) {
      guard let place = variables.firstIndex(of: name) else {
        settings.addUnknown("variable", name, among: variables)
        continue
      }
      let words: [String: JSONValue] = [
        "true": .bool(true), "1": .bool(true), "false": .bool(false), "0": .bool(false),
      ]
      let value = options[place].placeholder == nil ? words[text] : .string(text)
      settings.add(value ?? .null, for: options[place], "the variable \(name)", isSecret: true)
    }
    if let path = settings.arguments[fileOption] {
      let known = options.filter { $0.name != fileOption.name }
      let (fields, isSecret) = settings.fields(ofFile: path)
      for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
        guard let option = known.first(where: { $0.name == name }) else {
          settings.addUnknown("key", name, among: known.map(\.name), in: "\(path): ")
          continue
        }
        settings.add(value, for: option, "\(path): the key \(name)", isSecret: isSecret)
      }
    }
    self = settings.arguments
    return settings.faults
  }

  /// The variables of this process, by their names.
  private static func environment() -> [(name: String, text: String)] {
    var variables: [(name: String, text: String)] = []
    var next = environ
    while let entry = next.pointee {
      let parts = String(cString: entry).split(
        separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { variables.append((String(parts[0]), String(parts[1]))) }
      next = next.successor()
    }
    return variables.sorted { $0.name < $1.name }
  }

  private struct Settings {
    var arguments: ParsedArguments
    var faults: [String] = []
    /// The options that have a value. A flag may be off.
    private var decided: Set<String>

    init(_ arguments: ParsedArguments) {
      self.arguments = arguments
      decided = Set(arguments.command.options.map(\.name).filter { arguments.has(named: $0) })
    }

    /// Adds a value of an option, unless a place that comes first has given one.
    mutating func add(
      _ value: JSONValue, for option: any CommandOption, _ place: String, isSecret: Bool
    ) {
      guard decided.insert(option.name).inserted else { return }
      do throws(UsageError) {
        switch (option.placeholder, value) {
        case (nil, .bool(let isOn)): if isOn { try arguments.add("", for: option, isSecret) }
        case (nil, _): throw UsageError("--\(option.name) takes true or false")
        case (_?, .string("")): throw UsageError("it is empty: give it a value, or remove it")
        case (_?, .string(let text)), (_?, .number(let text)):
          try arguments.add(text, for: option, isSecret)
        case (_?, _): throw UsageError("--\(option.name) takes a string or a number")
        }
      } catch {
        faults.append("\(place): \(error.message)")
      }
    }

    mutating func addUnknown(
      _ kind: String, _ name: String, among names: [String], in place: String = ""
    ) {
      let hint = Spelling.closest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
      faults.append("\(place)unknown \(kind) \(name)\(hint)")
    }

    /// The fields of a file's object, and whether only its owner can read it.
    mutating func fields(ofFile path: String) -> (fields: [String: JSONValue], isSecret: Bool) {
      do {
        var status = stat()
        let isSecret = stat(path, &status) == 0 && status.st_mode & 0o077 == 0
        let bytes = try FileBytes.read(path, maxByteCount: maxFileByteCount, .directory)
        guard case .object(let fields) = try JSONValue(parsing: bytes) else {
          faults.append("\(path) is not a JSON object with names of options as its keys")
          return ([:], false)
        }
        return (fields, isSecret)
      } catch let error as ServerError {
        faults.append("\(error)")
      } catch {
        faults.append("\(path) is not JSON: \(error)")
      }
      return ([:], false)
    }
  }
}
