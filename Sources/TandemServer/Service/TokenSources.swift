/// Tokens of several sources: a token is of the first one that knows it.
package struct TokenSources: TokenSource {
  private let sources: [any TokenSource]

  /// Tokens of sources, at least one.
  package init(_ sources: [any TokenSource]) { self.sources = sources }

  /// True if one of the sources requires tokens.
  package var areRequired: Bool { sources.contains { $0.areRequired } }

  /// The token of a secret, by the first source that has it.
  package func token(ofSecret secret: String) throws -> AccessToken? {
    for source in sources {
      if let token = try source.token(ofSecret: secret) { return token }
    }
    return nil
  }

  /// A token as it is now, by the first source that has it.
  package func current(_ token: AccessToken) throws -> AccessToken? {
    for source in sources {
      if let token = try source.current(token) { return token }
    }
    return nil
  }

  /// Runs all sources.
  package func run() async {
    await withDiscardingTaskGroup { group in
      for source in sources { group.addTask { await source.run() } }
    }
  }
}
