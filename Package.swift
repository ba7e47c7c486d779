// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

/// A target that exists in ARCHITECTURE.md's table, with the arrows that table allows and no others.
func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: settings)
}

let package = Package(
  name: "Tandem",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "Tandem", targets: ["Tandem"]),
    .library(name: "TandemDifferences", targets: ["TandemDifferences"]),
    .library(name: "TandemRecords", targets: ["TandemRecords"]),
    .library(name: "TandemMirror", targets: ["TandemMirror"]),
    .library(name: "TandemChannels", targets: ["TandemChannels"]),
    .library(name: "TandemSQLite", targets: ["TandemSQLite"]),
    .library(name: "TandemLiveQueries", targets: ["TandemLiveQueries"]),
    .library(name: "TandemTransports", targets: ["TandemTransports"]),
    .executable(name: "tandem", targets: ["TandemCLI"]),
  ],
  targets: [
    // Core
    library("TandemDifferences"),
    library("TandemRecords", ["TandemDifferences"]),
    // Engines
    library("TandemMirror"),
    library("TandemChannels"),
    // Adapters
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    library("TandemSQLite", ["TandemDifferences", "TandemRecords", "CSQLite"]),
    library("TandemLiveQueries", ["TandemSQLite", "TandemDifferences", "TandemRecords"]),
    library(
      "TandemTransports",
      [
        "TandemRecords", "TandemChannels",
        .target(name: "CCurl", condition: .when(platforms: [.linux])),
      ]),
    // Facade and executable
    library(
      "Tandem",
      [
        "TandemDifferences", "TandemRecords", "TandemMirror", "TandemChannels", "TandemSQLite",
        "TandemLiveQueries", "TandemTransports",
      ]),
    .executableTarget(name: "TandemCLI", dependencies: ["Tandem"], swiftSettings: settings),
    .executableTarget(
      name: "LiveScreen", dependencies: ["Tandem"], path: "Examples/LiveScreen",
      swiftSettings: settings),
    // Tests
    .target(
      name: "TestHTTPServer", dependencies: ["TandemTransports"],
      path: "Tests/Support/TestHTTPServer", swiftSettings: settings),
    .target(
      name: "TestFolder", dependencies: ["TandemSQLite", "TandemRecords"],
      path: "Tests/Support/TestFolder", swiftSettings: settings),
    .target(
      name: "TestRandom", path: "Tests/Support/TestRandom", swiftSettings: settings),
    tests("TandemDifferencesTests", ["TandemDifferences", "TestRandom"]),
    tests("TandemRecordsTests", ["TandemRecords", "TandemDifferences", "TestRandom"]),
    tests("TandemMirrorTests", ["TandemMirror", "TestRandom"]),
    tests("TandemChannelsTests", ["TandemChannels", "TestRandom"]),
    tests(
      "TandemSQLiteTests",
      ["TandemSQLite", "TandemRecords", "TandemDifferences", "CSQLite", "TestRandom"]),
    tests(
      "TandemLiveQueriesTests",
      [
        "TandemLiveQueries", "TandemSQLite", "TandemRecords", "TandemDifferences", "TestFolder",
        "TestRandom",
      ]),
    tests(
      "TandemTransportsTests",
      [
        "TandemTransports", "TandemChannels", "TandemRecords", "TandemCLI", "TestFolder",
        "TestHTTPServer", .target(name: "CCurl", condition: .when(platforms: [.linux])),
      ]),
    tests("TandemTests", ["Tandem", "TestFolder", "TestRandom"]),
    tests("TandemCLITests", ["TandemCLI", "Tandem", "TestFolder", "TestHTTPServer"]),
  ],
  swiftLanguageModes: [.v6]
)
