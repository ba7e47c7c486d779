import TandemMirror
import Testing

@testable import TandemHTTP

@Suite("Descriptor budget")
struct DescriptorBudgetTests {
  @Test(
    "what is reserved stays free, however many may be open",
    arguments: [0, 1, 63, 64, 65, 68, 72, 256, 1_024, 20_000, .max])
  func budget(count: Int) {
    let budget = DescriptorBudget(descriptorCount: count)
    #expect(budget.maxTransferCount >= 1 && budget.maxConnectionCount >= budget.maxTransferCount)
    guard count >= DescriptorBudget.reservedCount + DescriptorBudget.countPerTransfer else {
      return #expect(budget == DescriptorBudget(descriptorCount: 0))
    }
    // Each transfer with two sockets and two files, and all other connections idle.
    let transfers = budget.maxTransferCount.multipliedReportingOverflow(by: 4)
    let idleCount = budget.maxConnectionCount - budget.maxTransferCount
    guard !transfers.overflow else {
      Issue.record("more than there are")
      return
    }
    #expect(transfers.partialValue <= count - DescriptorBudget.reservedCount)
    #expect(
      budget.maxTransferCount * 3 + idleCount <= count - DescriptorBudget.reservedCount)
  }

  @Test("the current budget follows the limit of open files")
  func current() {
    #expect(FileStore.maxTransferCount == DescriptorBudget.current.maxTransferCount)
    #expect(DescriptorBudget.current != DescriptorBudget(descriptorCount: 0))
    #expect(DescriptorBudget(descriptorCount: 1_024).maxTransferCount == 240)
  }
}
