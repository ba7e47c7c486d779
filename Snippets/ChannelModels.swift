import Observation
import Tandem

// snippet.models
/// The subject: what the channel is about. No object of this type is needed.
struct Light { var name: String; var level: Double }

/// Two models that do not know each other.
@MainActor @Observable final class Slider { var value = 0.0 }
@MainActor final class Label {
  var text = ""
  var changeCount = 0
}
// snippet.end

// snippet.bind
@MainActor final class Screen {
  let hub = ChannelHub()
  let kitchen = Channel<Light>(id: "kitchen")
  let slider = Slider(), label = Label()

  init() {
    // The slider gets the level, and sends the changes that it makes itself.
    hub.bindBothWays(
      slider, to: kitchen,
      through: KeyPathMap<Light, Slider>().mapping(
        \.level, to: \.value,
        willChange: { slider, change in (0...1).contains(change.new) ? .accept : .veto }))

    // The label gets the level as a text.
    hub.bind(
      label, to: kitchen,
      through: KeyPathMap<Light, Label>().mapping(
        \.level, to: \.text, converting: { level in "\(Int(level * 100)) %" },
        didChange: { label, change in label.changeCount += 1 }))

    // A value that reaches nobody is a mistake, which the hub reports.
    hub.onDiagnostic = { print($0) }
  }
}
// snippet.end

// snippet.send
let screen = Screen()
screen.hub.send(\.level, 0.5, on: screen.kitchen)
print(screen.slider.value, screen.label.text)  // 0.5 50 %: both have it when send returns

// Values that belong together are one batch.
screen.hub.send(
  ChannelBatch().setting(\Light.level, to: 0.8, on: screen.kitchen)
    .setting(\Light.level, to: 0.2, on: Channel<Light>(id: "hall")))
// snippet.end
precondition(screen.slider.value == 0.8 && screen.label.text == "80 %")

// snippet.both
// The slider moves. Its change is sent in the next turn of the main actor.
screen.slider.value = 0.3
while screen.label.text != "30 %" { await Task.yield() }
// snippet.end

// snippet.veto
screen.hub.send(\.level, 7, on: screen.kitchen)
print(screen.slider.value, screen.label.text)  // 0.3 700 %: a veto is for one object
// snippet.end
precondition(screen.slider.value == 0.3 && screen.label.text == "700 %")

// snippet.diagnostic
screen.hub.send(\.name, "Kitchen", on: screen.kitchen)  // no map has the name
screen.hub.send(\.level, 0.1, on: Channel<Light>(id: 17))  // the ids of the others are texts
print(screen.hub.diagnostics.map(\.kind))  // [notMapped, otherIDType]
// snippet.end
precondition(screen.hub.diagnostics.map(\.kind) == [.notMapped, .otherIDType])

// snippet.elsewhere
/// A sensor, on an actor of its own. It has no access to the hub, only to a sender.
actor Sensor {
  func measure(for light: Channel<Light>, by sender: ChannelSender) async {
    await sender.send(\.level, 0.9, on: light)
  }
}
await Sensor().measure(for: screen.kitchen, by: screen.hub.sender())
print(screen.label.text)  // 90 %
// snippet.end
precondition(screen.label.text == "90 %")
