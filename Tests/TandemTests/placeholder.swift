@testable import Tandem
