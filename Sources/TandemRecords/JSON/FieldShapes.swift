import SystemLibrary

/// The field names of objects read so far, as a tree. An object is a path from the root, with one
/// step per field. Objects with the same names in the same order end at the same shape and share
/// one layout. A name that occurred at its place before is recognised without decoding.
///
/// This is the map of Self's objects (Chambers, Ungar and Lee, OOPSLA 1989), which most JavaScript
/// engines call a hidden class or shape.
struct FieldShapes {
  /// A node of the tree.
  typealias Shape = Int

  /// The shape of an object without fields.
  static let root: Shape = 0
  /// The maximum number of shapes. If there are more when an object starts, all are removed.
  static let maxShapeCount = 8_192
  /// The maximum length in bytes of the names of all shapes. If it is exceeded, all shapes are
  /// removed.
  static let maxNameByteCount = 1 << 20

  /// The number of possible next fields that are compared before the hash table is used.
  private static let maxComparedCount = 8

  private struct Node {
    let parent: Shape
    let fieldCount: Int
    /// The range of the name's bytes; empty if JSON has to escape some of them.
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
  /// The names of the current object, after it has left the known part of the tree.
  private var namesOfObject: Set<FieldValue> = []

  init() { forget() }

  /// Begins another object.
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
  /// The number of fields on the path to the shape.
  @inline(__always)
  func fieldCount(of shape: Shape) -> Int { nodes[shape].fieldCount }

  /// The name of the last field on the path to the shape.
  func name(of shape: Shape) -> String { names[shape] }

  /// The layout of the fields on the path to the shape; the same object for the same shape.
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

  /// Finds the shape after `shape` whose name is in `bytes` at `index`, followed by a quote, and
  /// the name's length in bytes. Returns `nil` if none of those compared has it.
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

  /// Returns the shape after `shape` with the given name, which is added if necessary. Returns
  /// `nil` if the object has a field of that name already.
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
