@main enum SimulatorCommand { static func main() {} }
