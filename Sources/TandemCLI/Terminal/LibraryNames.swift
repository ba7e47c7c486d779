/// The names of the library in its messages, and what a reader of this tool types instead.
///
/// A message of the library names an option by its Swift name between backticks, as in "name the field with the
/// list, as in `itemsField` data". Whatever this tool prints names its own option: "as in --items data".
enum LibraryNames {
  private static let options: [String: any CommandOption] = [
    "itemsField": ListRequest.Option.items,
    "paging": ListRequest.Option.page,
    "keepsOrigin": ListRequest.Option.sameOrigin,
    "certificateAuthorityFile": ListRequest.Option.cacert,
    "format": MirrorCommand.Option.format,
    "encoding": CSVOption.encoding,
    "delimiter": CSVOption.delimiter,
    "quotes": CSVOption.quotes,
    "functions": CommandSpecification.loadExtension,
    "collations": CommandSpecification.loadExtension,
    "widensColumns": MirrorCommand.Option.widen,
    "allowsEmptySource": MirrorCommand.Option.allowEmpty,
    "deletionLimit": MirrorCommand.Option.maxDeletes,
    "content": MirrorCommand.Option.content,
    "preview": MirrorCommand.Option.preview,
    "directory": MirrorCommand.Option.into,
    "granularity": AttachCommand.Option.granularity,
    "renumbers": AttachCommand.Option.renumber,
    "same": AttachCommand.Option.same,
    "allowsAssignedKeys": AttachCommand.Option.allowAssignedKeys,
    "allowsBlindSpots": AttachCommand.Option.allowBlindSpots,
    "allowsLostCommits": AttachCommand.Option.allowLostCommits,
    "allowsInsecureHTTP": AttachCommand.Option.insecureHTTP,
    "discardsRejected": DetachCommand.discardRejected,
    "discardsConflicts": DetachCommand.discardConflicts,
    "allowsOthers": ServeCommand.Option.tokens,
    "creates": ServeCommand.Option.createStore,
    "hintAddress": ServeCommand.Option.directStore,
    "maxConnectionCount": ServeCommand.Option.maxConnections,
    "maxAddressConnectionCount": ServeCommand.Option.maxAddressConnections,
    "maxTokenStreamCount": ServeCommand.Option.maxTokenStreams,
    "maxTokenFollowedSpaceCount": ServeCommand.Option.maxTokenSpaces,
  ]

  /// The names that stand for more than one option, or for a command.
  private static let others = [
    "token": "--token-file of tandem attach or serve, or the variable TANDEM_TOKEN",
    "server(_:space:)": "--server, --space",
    "keptEdits(.rejected)": "tandem rejected",
    "keptEdits(.conflicts)": "tandem conflicts",
    "AttachedTable.columns": "--table TABLE:COLUMN,COLUMN",
    "endSchemaChange()": "tandem alter DB --end",
    "dropConstraint": "tandem space --drop-constraint NUMBER",
    "redefine": "tandem space --redefine",
    "rekey": "tandem rekey DB --table TABLE --autoincrement",
  ]

  /// The spelling of a name; `nil` for a word that is no name of the library.
  static func spelling(of name: String) -> String? {
    options[name].map { "--\($0.name)" } ?? others[name]
  }

  /// A message in the words of this tool. The words of a server, which it quotes, stay as they are.
  static func replaced(in message: String) -> String {
    let parts = message.split(
      separator: serverWords, maxSplits: 1, omittingEmptySubsequences: false)
    return ([replaced(in: parts[0])] + parts.dropFirst().map(String.init)).joined(
      separator: serverWords)
  }

  private static let serverWords = "the server says: \""

  private static func replaced(in message: Substring) -> String {
    var parts = message.split(separator: "`", omittingEmptySubsequences: false).map(String.init)
    guard parts.count > 2 else { return String(message) }
    var result = parts.removeFirst()
    while !parts.isEmpty {
      let part = parts.removeFirst()
      if !parts.isEmpty, let spelling = spelling(of: part) {
        result += spelling + parts.removeFirst()
      } else {
        result += "`" + part
      }
    }
    return result
  }
}
