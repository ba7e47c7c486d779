import Tandem

/// The subject of the channels: the properties of a place that are sent.
struct PlaceFacts {
  var name: String
  var latitude: Double
  var longitude: Double
  var note: String
  var isFavourite: Bool
}

/// The first model that shows a place.
@MainActor final class Headline {
  struct Shown: Encodable { var title = "", isFavourite = false }
  var shown = Shown()
}

/// The second model, of another class, which does not know the first one.
@MainActor final class Badge {
  struct Shown: Encodable { var latitude = 0.0, longitude = 0.0, note = "" }
  var shown = Shown()
}

extension Phone {
  private static let facts = RecordChannel<PlaceFacts>(id: "zone", as: String.self)
    .column("name", to: \.name).column("latitude", to: \.latitude).column(
      "longitude", to: \.longitude
    )
    .column("note", to: \.note).column("favourite", to: \.isFavourite)

  /// Binds two models to the channel of a place, and sends them whenever the place changes.
  @MainActor func sendPanel(of zone: String, to stream: EventStream) async throws {
    let hub = ChannelHub()
    let channel = Channel<PlaceFacts>(id: zone)
    let headline = Headline()
    let badge = Badge()
    hub.bind(
      headline, to: channel,
      through: KeyPathMap<PlaceFacts, Headline>().mapping(\.name, to: \.shown.title)
        .mapping(\.isFavourite, to: \.shown.isFavourite))
    hub.bind(
      badge, to: channel,
      through: KeyPathMap<PlaceFacts, Badge>().mapping(\.latitude, to: \.shown.latitude)
        .mapping(\.longitude, to: \.shown.longitude).mapping(\.note, to: \.shown.note))

    let place = LiveQuery(
      "SELECT zone, name, latitude, longitude, note, favourite FROM place WHERE zone = \(zone)",
      key: "zone")
    try await stream.sending({ @MainActor in
      for try await change in place.differences(in: database) {
        hub.send(try Phone.facts.batch(for: change))
        try stream.send("headline", JSON.object(headline.shown))
        try stream.send("badge", JSON.object(badge.shown))
      }
    })
  }
}
