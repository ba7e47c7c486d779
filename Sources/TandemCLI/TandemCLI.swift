@main
struct TandemCLI {
  static func main() {}
}
