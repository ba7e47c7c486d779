import TandemDifferences

let draft = "The quick fox jumps.\nIt is brown.\n"
let final = "The quick red fox jumps.\nIt is brown.\n"

// For people: the format of `diff -u`.
print(UnifiedDiff(from: draft, to: final, oldName: "draft", newName: "final"), terminator: "")
// --- draft
// +++ final
// @@ -1,2 +1,2 @@
// -The quick fox jumps.
// +The quick red fox jumps.
//  It is brown.

// For programs: a small difference. Its delta is one line, for a receiver that has the old text.
let difference = TextDifference(from: draft, to: final)
print(difference.delta.debugDescription)  // "a+red "
print(difference.applying(to: draft) == final)  // true

// A patch finds its place in a text that has changed meanwhile.
let patch = TextPatch(from: draft, to: final)
print(patch.applying(to: "Once upon a time:\n" + draft).text, terminator: "")
// Once upon a time:
// The quick red fox jumps.
// It is brown.

// A merge keeps the edits of both sides.
let merge = TextMerge(base: draft, local: final, remote: draft + "The end.\n")
print(merge.merged ?? "conflict", terminator: "")
// The quick red fox jumps.
// It is brown.
// The end.
