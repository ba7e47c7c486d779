// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

/// The tests that `make check` builds, with no other targets than these need.
let only = Context.environment["TANDEM_CHECK"]?.split(separator: " ").map(String.init)

/// A target that exists in ARCHITECTURE.md's table, with the arrows that table allows and no others.
func library(
  _ name: String, _ dependencies: [Target.Dependency] = [], resources: [Resource]? = nil
) -> Target {
  .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: settings)
}

/// Tests of a release build: the code under test is optimized, the tests are not, because that takes longer to
/// compile than it saves when they run. Nothing imports the module of tests, so that it is not made separately.
func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(
    name: name, dependencies: dependencies,
    swiftSettings: settings + [
      .unsafeFlags(
        ["-Onone", "-gnone", "-no-emit-module-separately-wmo"], .when(configuration: .release))
    ])
}

let package = Package(
  name: "Tandem",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "Tandem", targets: ["Tandem"]),
    .library(name: "TandemDifferences", targets: ["TandemDifferences"]),
    .library(name: "TandemRecords", targets: ["TandemRecords"]),
    .library(name: "TandemSQLite", targets: ["TandemSQLite"]),
    .library(name: "TandemLiveQueries", targets: ["TandemLiveQueries"]),
    .library(name: "TandemDigests", targets: ["TandemDigests"]),
    .library(name: "TandemHTTP", targets: ["TandemHTTP"]),
    .library(name: "TandemChannels", targets: ["TandemChannels"]),
    .library(name: "TandemMirror", targets: ["TandemMirror"]),
    .library(name: "TandemLinks", targets: ["TandemLinks"]),
    .library(name: "TandemSync", targets: ["TandemSync"]),
    .library(name: "TandemSpace", targets: ["TandemSpace"]),
    .library(name: "TandemReplica", targets: ["TandemReplica"]),
    .library(name: "TandemServer", targets: ["TandemServer"]),
    .executable(name: "tandem", targets: ["TandemCLI"]),
  ],
  targets: [
    library("SystemLibrary"),
    // Values
    library("TandemDifferences"),
    library("TandemRecords", ["TandemDifferences", "SystemLibrary"]),
    library("TandemSync", ["TandemDifferences", "TandemRecords", "TandemDigests"]),
    // The database
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    library("TandemSQLite", ["TandemDifferences", "TandemRecords", "CSQLite", "SystemLibrary"]),
    library("TandemLiveQueries", ["TandemSQLite", "TandemDifferences", "TandemRecords"]),
    library("TandemSpace", ["TandemSync", "TandemSQLite", "TandemRecords", "SystemLibrary"]),
    library(
      "TandemReplica", ["TandemSync", "TandemSQLite", "TandemRecords", "TandemDifferences"]),
    // Other machines
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(
      name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
    library(
      "TandemHTTP",
      [
        "CZlib", "SystemLibrary", .target(name: "CCurl", condition: .when(platforms: [.linux])),
      ]),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    library("TandemDigests", [.target(name: "CCrypto", condition: .when(platforms: [.linux]))]),
    library(
      "TandemMirror",
      [
        "TandemDigests", "TandemHTTP", "TandemSQLite", "TandemRecords", "TandemDifferences",
        "SystemLibrary",
      ]),
    // The server of spaces
    .systemLibrary(
      name: "CMicroHTTP", pkgConfig: "libmicrohttpd",
      providers: [.apt(["libmicrohttpd-dev"]), .brew(["libmicrohttpd"])]),
    library(
      "TandemServer",
      [
        "TandemPostgreSQL", "TandemSpace", "TandemSync", "TandemSQLite", "TandemRecords",
        "TandemDigests", "CMicroHTTP", "CZlib", "SystemLibrary",
        .target(name: "CCrypto", condition: .when(platforms: [.linux])),
      ], resources: [.embedInCode("Inspector/Page"), .embedInCode("Service/openapi.json")]),
    library("TandemPostgreSQL", ["TandemSpace", "TandemSync", "TandemRecords", "SystemLibrary"]),
    // Models in memory
    library("TandemChannels"),
    library("TandemLinks", ["TandemChannels", "TandemRecords", "SystemLibrary"]),
    // All of it, and the command
    library(
      "Tandem",
      [
        "TandemDifferences", "TandemRecords", "TandemSQLite", "TandemLiveQueries", "TandemDigests",
        "TandemHTTP", "TandemMirror", "TandemChannels", "TandemLinks", "TandemSync", "TandemSpace",
        "TandemReplica", "SystemLibrary",
      ]),
    .target(
      name: "Demo", dependencies: ["Tandem", "TandemServer", "SystemLibrary"],
      path: "Examples/Demo", resources: [.embedInCode("Page")], swiftSettings: settings),
    .executableTarget(
      name: "TandemCLI",
      dependencies: ["Tandem", "TandemServer", "TandemPostgreSQL", "Demo", "SystemLibrary"],
      swiftSettings: settings),
    .executableTarget(
      name: "LiveScreen", dependencies: ["Tandem"], path: "Examples/LiveScreen",
      swiftSettings: settings),
    // Tests
    .target(
      name: "TestHTTPServer", dependencies: ["TandemHTTP", "TandemDigests"],
      path: "Tests/Support/TestHTTPServer", swiftSettings: settings),
    .target(name: "TestSystemCalls", path: "Tests/Support/TestSystemCalls"),
    .target(
      name: "TestFolder", dependencies: ["TandemSQLite", "TandemRecords", "TestSystemCalls"],
      path: "Tests/Support/TestFolder", swiftSettings: settings),
    .target(
      name: "TestTool", dependencies: ["TestFolder", "TandemHTTP"], path: "Tests/Support/TestTool",
      swiftSettings: settings),
    .target(
      name: "TestPostgreSQL", dependencies: ["TestFolder"], path: "Tests/Support/TestPostgreSQL",
      swiftSettings: settings),
    .executableTarget(
      name: "IsolationProbe", dependencies: ["TandemSync", "TandemDifferences"],
      path: "Tests/Support/IsolationProbe", swiftSettings: settings),
    .executableTarget(
      name: "SpaceWriters",
      dependencies: ["TandemSpace", "TandemPostgreSQL", "TandemSync", "TandemRecords"],
      path: "Tests/Support/SpaceWriters", swiftSettings: settings),
    .executableTarget(
      name: "TandemSimulator",
      dependencies: [
        "TandemReplica", "TandemServer", "TandemSpace", "TandemSync", "TandemSQLite",
        "TandemRecords", "TandemDifferences", "TandemPostgreSQL", "CSQLite", "TestPostgreSQL",
        "TestRandom", "SystemLibrary",
      ], path: "Tests/Support/TandemSimulator", swiftSettings: settings),
    .target(
      name: "TestRandom", path: "Tests/Support/TestRandom", swiftSettings: settings),
    tests("TandemDifferencesTests", ["TandemDifferences", "TestFolder", "TestRandom"]),
    tests("TandemRecordsTests", ["TandemRecords", "TandemDifferences", "TestRandom"]),
    tests("TandemSyncTests", ["TandemSync", "TandemRecords", "TandemDifferences", "TestRandom"]),
    tests(
      "TandemSQLiteTests",
      [
        "TandemSQLite", "TandemRecords", "TandemDifferences", "CSQLite", "TestFolder", "TestRandom",
      ]),
    tests(
      "TandemLiveQueriesTests",
      [
        "TandemLiveQueries", "TandemSQLite", "TandemRecords", "TandemDifferences", "TestFolder",
        "TestRandom",
      ]),
    tests(
      "TandemReplicaTests",
      [
        "TandemReplica", "TandemSpace", "TandemSync", "TandemSQLite", "TandemRecords",
        "TandemDifferences", "CSQLite", "TestFolder", "TestRandom",
      ]),
    tests(
      "TandemSpaceTests",
      [
        "TandemSpace", "TandemPostgreSQL", "TandemSync", "TandemSQLite", "TandemRecords",
        "TestPostgreSQL", "TestFolder", "TestRandom",
      ]),
    tests(
      "TandemPostgreSQLTests",
      [
        "TandemPostgreSQL", "TandemSpace", "TandemSync", "TandemRecords", "TestPostgreSQL",
        "TestFolder", "TestRandom",
      ]),
    tests(
      "TandemServerTests",
      [
        "TandemServer", "TandemPostgreSQL", "TandemSpace", "TandemSync", "TandemSQLite",
        "TandemRecords", "TandemDigests", "TandemHTTP", "TestPostgreSQL", "TestFolder",
        "TestRandom", "SystemLibrary",
      ]),
    tests("TandemSimulatorTests", ["TandemSimulator", "TandemSync", "TandemRecords"]),
    tests("TandemDigestsTests", ["TandemDigests"]),
    tests(
      "TandemHTTPTests",
      [
        "TandemHTTP", "TestHTTPServer", "TestFolder",
        .target(name: "CCurl", condition: .when(platforms: [.linux])),
      ]),
    tests(
      "TandemMirrorTests",
      [
        "TandemMirror", "TandemDigests", "TandemHTTP", "TandemSQLite", "TandemRecords",
        "TandemDifferences", "TestFolder",
        "TestHTTPServer", "TestRandom",
      ]),
    tests("TandemChannelsTests", ["TandemChannels", "TestRandom"]),
    tests(
      "TandemLinksTests",
      [
        "TandemLinks", "TandemChannels", "TandemRecords", "TestFolder", "TestHTTPServer",
        "TestRandom", "SystemLibrary",
      ]),
    tests("TandemTests", ["Tandem", "TestFolder", "TestHTTPServer", "TestRandom"]),
    // These only start the tool, so that they are compiled beside it.
    tests(
      "TandemToolTests",
      [
        "Tandem", "TandemPostgreSQL", "TestTool", "TestPostgreSQL", "TestFolder", "TestHTTPServer",
        "TestRandom",
      ]),
    tests(
      "TandemCLITests",
      [
        "TandemCLI", "Tandem", "TandemServer", "TestTool", "TestPostgreSQL", "TestFolder",
        "TestHTTPServer",
      ]),
  ],
  swiftLanguageModes: [.v6]
)

if let only {
  // These tests, and the targets that they need.
  var kept = Set(only)
  var count = 0
  while count < kept.count {
    count = kept.count
    for target in package.targets where kept.contains(target.name) {
      kept.formUnion(
        target.dependencies.compactMap { dependency in
          switch dependency {
          case .targetItem(let name, _), .byNameItem(let name, _): name
          default: nil
          }
        })
    }
  }
  package.targets.removeAll { !kept.contains($0.name) }
  package.products.removeAll { product in
    !kept.contains(product.name) && !(product.name == "tandem" && kept.contains("TandemCLI"))
  }
}
// On Linux, these tests compile the client on URLSession as a part of themselves, because a library that users
// link must not link FoundationNetworking.
for target in package.targets where target.name == "TandemHTTPTests" {
  #if os(Linux)
    target.swiftSettings?.append(.define("TANDEM_URLSESSION"))
  #else
    target.exclude.append("URLSession")
  #endif
}
