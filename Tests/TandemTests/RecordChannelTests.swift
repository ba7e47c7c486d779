import Tandem
import Testing

struct RecordChannelTests {
  private struct User { var name: String, age: Int }

  private final class Model {
    var name = "–"
    var age = 0
    var nameCount = 0
  }

  private let users = RecordChannel<User>(id: "id").column("name", to: \.name)
    .column("age", to: \.age)

  @Test("each updated column of a record reaches the channel of its id, and no other column does")
  func updating() {
    let hub = ChannelHub()
    let model = Model()
    let map = KeyPathMap<User, Model>().mapping(\.age, to: \.age)
      .mapping(
        \.name, to: \.name, equalValues: .delivered, didChange: { model, _ in model.nameCount += 1 }
      )
    hub.bind(model, to: Channel<User>(id: Int64(1)), through: map)
    let old: Record = ["id": 1, "name": "Nike", "age": 21]
    let new: Record = ["id": 1, "name": "Nike", "age": 30]
    let batch = users.batch(for: SetDifference(updated: [.init(old: old, new: new)]))
    hub.send(batch)
    #expect(batch.count == 1 && model.age == 30 && model.nameCount == 0)

    let inserted: Record = ["id": 1, "name": "Tom", "age": 4]
    hub.send(users.batch(for: SetDifference(inserted: [inserted], deleted: [new])))
    #expect(model.name == "Tom" && model.age == 4)
  }

  @Test("values and ids that do not fit are passed over")
  func misfits() {
    let records: [Record] = [
      ["id": 1.5, "name": "a"], ["name": "b"], ["id": "x", "name": 7, "age": "old"],
      ["id": "x", "age": 1.0],
    ]
    #expect(users.batch(for: SetDifference(inserted: records)).isEmpty)
  }
}
