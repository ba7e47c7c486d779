nil                                                                                                                             

// original-source-range: /tmp/wt/table/Sources/TandemMirror/Run/MirrorTimeout.swift:22:41-22:51
