import TandemDifferences

let draft = "The quick fox jumps.\nIt is brown.\n"
let final = "The quick red fox jumps.\nIt is brown.\n"

print(UnifiedDiff(from: draft, to: final, oldName: "draft", newName: "final"), terminator: "")

// The least that leads from one text to the other; as one line, for whoever has the old text.
let difference = TextDifference(from: draft, to: final)
print(difference.delta)  // a+red, and a space
print(difference.applying(to: draft) == final)  // true

// A patch finds its place in a text that has changed in the meantime.
let patch = TextPatch(from: draft, to: final)
print(patch.applying(to: "Once upon a time:\n" + draft).text, terminator: "")

// Edits of both sides merge.
let merge = TextMerge(base: draft, local: final, remote: draft + "The end.\n")
print(merge.merged ?? "conflict", terminator: "")
