nil                                                                                                                             

// original-source-range: /tmp/wt/table/Sources/TandemMirror/Run/MirrorTimeout.swift:13:33-13:43
