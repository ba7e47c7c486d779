/// The version of the package, sent to servers and printed by `tandem --version`.
package enum PackageVersion {
  package static let current = "0.1.0"
}
