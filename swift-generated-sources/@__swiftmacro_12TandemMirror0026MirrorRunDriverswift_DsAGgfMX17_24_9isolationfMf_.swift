nil                                                                                                                             

// original-source-range: /tmp/wt/table/Sources/TandemMirror/Run/MirrorRunDriver.swift:18:25-18:35
