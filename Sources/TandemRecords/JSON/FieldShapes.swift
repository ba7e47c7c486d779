#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The field names that objects were seen to have, as a tree: an object is a path from the root,
/// one step per field. Objects with the same names in the same order end at the same shape and share
/// one layout, and a name that was seen at its place before is recognised without being decoded.
///
/// This is the map of Self's objects (Chambers, Ungar and Lee, OOPSLA 1989), which most JavaScript
/// engines call hidden class or shape.
struct FieldShapes {
  /// A place in the tree.
  typealias Shape = Int

  /// The shape of an object without fields.
  static let root: Shape = 0
  /// How many shapes are kept; if an object starts when there are more, all are forgotten.
  static let maxShapeCount = 8_192
  /// How many bytes the names of all shapes may have together before all are forgotten.
  static let maxNameByteCount = 1 << 20

  /// How many fields that can follow a shape are compared before a hash table is asked.
  private static let maxComparedCount = 8

  private struct Node {
    let parent: Shape
    let fieldCount: Int
    /// Where the name's bytes are; none if JSON has to escape some of them.
    let nameStart: Int
    let nameCount: Int
    var newestChild: Shape?
    let olderSibling: Shape?
  }

  private struct Step: Hashable {
    let shape: Shape
    let name: FieldValue
  }

  private var nodes: [Node] = []
  private var names: [String] = []
  private var layouts: [RecordLayout?] = []
  private var nameBytes: [UInt8] = []
  private var children: [Step: Shape] = [:]
  /// The names of the object that is being read, once it has left the known part of the tree.
  private var namesOfObject: Set<FieldValue> = []

  init() { forget() }

  /// Says that another object starts.
  @inline(__always)
  mutating func startObject() {
    if nodes.count > FieldShapes.maxShapeCount || nameBytes.count > FieldShapes.maxNameByteCount {
      forget()
    }
    if !namesOfObject.isEmpty { namesOfObject.removeAll(keepingCapacity: true) }
  }

  private mutating func forget() {
    nodes = [
      Node(
        parent: 0, fieldCount: 0, nameStart: 0, nameCount: 0, newestChild: nil, olderSibling: nil)
    ]
    names = [""]
    layouts = [nil]
    nameBytes = []
    children = [:]
  }
}

extension FieldShapes {
  /// How many fields lead to the shape.
  @inline(__always)
  func fieldCount(of shape: Shape) -> Int { nodes[shape].fieldCount }

  /// The name of the last field that leads to the shape.
  func name(of shape: Shape) -> String { names[shape] }

  /// The names of all fields that lead to the shape; the same object for the same shape.
  @inline(__always)
  mutating func layout(of shape: Shape) -> RecordLayout {
    if let layout = layouts[shape] { return layout }
    let layout = RecordLayout(uniqueNames: namesLeading(to: shape))
    layouts[shape] = layout
    return layout
  }

  private func namesLeading(to shape: Shape) -> [String] {
    var path: [String] = []
    path.reserveCapacity(fieldCount(of: shape))
    var place = shape
    while place != FieldShapes.root {
      path.append(names[place])
      place = nodes[place].parent
    }
    return path.reversed()
  }

  /// The shape after `shape` whose name stands in `bytes` from `index` on, followed by a quote; and
  /// how many bytes the name has. `nil` if none of those compared has it.
  @inline(__always)
  func child(of shape: Shape, in bytes: UnsafeRawBufferPointer, from index: Int, to end: Int)
    -> (shape: Shape, nameCount: Int)?
  {
    var candidate = nodes[shape].newestChild
    var comparedCount = 0
    while let child = candidate, comparedCount < FieldShapes.maxComparedCount {
      let node = nodes[child]
      if node.nameCount > 0, end &- index > node.nameCount,
        bytes[index &+ node.nameCount] == ASCII.quote,
        hasName(node, at: bytes.baseAddress.unsafelyUnwrapped + index)
      {
        return (child, node.nameCount)
      }
      candidate = node.olderSibling
      comparedCount &+= 1
    }
    return nil
  }

  @inline(__always)
  private func hasName(_ node: Node, at text: UnsafeRawPointer) -> Bool {
    nameBytes.withUnsafeBufferPointer { names in
      memcmp(text, names.baseAddress.unsafelyUnwrapped + node.nameStart, node.nameCount) == 0
    }
  }

  /// The shape after `shape` with the given name, made if need be; `nil` if the object has a field of
  /// that name already.
  @inline(never)
  mutating func child(of shape: Shape, named name: String) -> Shape? {
    let step = Step(shape: shape, name: .text(name))
    if let child = children[step] { return child }
    if namesOfObject.isEmpty {
      namesOfObject.formUnion(namesLeading(to: shape).map(FieldValue.text))
    }
    guard namesOfObject.insert(step.name).inserted else { return nil }
    return addChild(step, name)
  }

  private mutating func addChild(_ step: Step, _ name: String) -> Shape {
    let child = nodes.count
    let start = nameBytes.count
    if !name.utf8.contains(where: WordScan.isEscapable) { nameBytes.append(contentsOf: name.utf8) }
    nodes.append(
      Node(
        parent: step.shape, fieldCount: fieldCount(of: step.shape) + 1, nameStart: start,
        nameCount: nameBytes.count - start, newestChild: nil,
        olderSibling: nodes[step.shape].newestChild))
    names.append(name)
    layouts.append(nil)
    children[step] = child
    nodes[step.shape].newestChild = child
    return child
  }
}
