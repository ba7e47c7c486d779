// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that the library is measured as a user calls it, across a package
// boundary, and so that the floors in C may be compiled with -O3.
let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Tandem", path: "..")],
  targets: [
    .target(
      name: "CFloors", cSettings: [.unsafeFlags(["-O3"])],
      linkerSettings: [.linkedLibrary("sqlite3")]),
    .executableTarget(
      name: "Benchmarks",
      dependencies: ["CFloors", .product(name: "Tandem", package: "Tandem")]),
  ],
  swiftLanguageModes: [.v6]
)
