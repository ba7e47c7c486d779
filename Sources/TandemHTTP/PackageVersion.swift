/// The version of the package, as servers and users are told.
package enum PackageVersion {
  package static let current = "0.1.0"
}
