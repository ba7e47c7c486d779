import TandemDifferences

struct Place: Equatable, Identifiable {
  var id: Int
  var name: String
}

final class Pin: Identifiable {
  let id: Int
  var title: String

  init(_ place: Place) { (id, title) = (place.id, place.name) }
}

var differ = SetDiffer<Place, Pin, Place.ID>()
for places in [[Place(id: 1, name: "Paris")], [Place(id: 1, name: "Lutetia")], []] {
  let difference = try differ.difference(to: places, onInsert: Pin.init) { pin, place in
    pin.title = place.name
    return pin
  }
  print(difference.inserted.count, difference.updated.count, difference.deleted.count)
}  // 1 0 0, then 0 1 0, then 0 0 1
