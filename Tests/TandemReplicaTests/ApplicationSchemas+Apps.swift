import TandemRecords
import TandemReplica

extension ApplicationSchema {
  static let rails = ApplicationSchema(
    name: "Rails",
    schema: """
      CREATE TABLE "schema_migrations" ("version" varchar NOT NULL PRIMARY KEY)
      CREATE TABLE "ar_internal_metadata" ("key" varchar NOT NULL PRIMARY KEY, "value" varchar, "created_at" datetime(6) NOT NULL)
      CREATE TABLE "users" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "email" varchar DEFAULT '' NOT NULL)
      CREATE TABLE "posts" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "user_id" integer NOT NULL, "title" varchar,
        "comments_count" integer DEFAULT 0, "updated_at" datetime(6) NOT NULL,
        CONSTRAINT "fk_rails_1" FOREIGN KEY ("user_id") REFERENCES "users" ("id"))
      CREATE TABLE "comments" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "post_id" bigint NOT NULL, "body" text,
        CONSTRAINT "fk_rails_2" FOREIGN KEY ("post_id") REFERENCES "posts" ("id") ON DELETE CASCADE)
      CREATE TABLE "tags" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "name" varchar COLLATE NOCASE)
      CREATE TABLE "taggings" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "taggable_type" varchar NOT NULL,
        "taggable_id" integer NOT NULL, "tag_id" integer, FOREIGN KEY ("tag_id") REFERENCES "tags" ("id") ON DELETE SET NULL)
      CREATE UNIQUE INDEX "index_users_on_email" ON "users" ("email")
      CREATE INDEX "index_taggings" ON "taggings" ("taggable_type", "taggable_id")
      """,
    rows: """
      INSERT INTO schema_migrations VALUES ('2024')
      INSERT INTO users VALUES (1, 'root@x')
      INSERT INTO posts VALUES (1, 1, 'Hello', 1, '2024'), (2, 1, 'Bye', 0, '2024')
      INSERT INTO comments VALUES (1, 1, 'first')
      INSERT INTO tags VALUES (1, 'news')
      INSERT INTO taggings VALUES (1, 'Post', 2, 1)
      """,
    edits: ["A", "B"].map { device in
      """
      INSERT INTO users (email) VALUES ('\(device)@x')
      INSERT INTO posts (user_id, title, updated_at) SELECT id, '\(device) post', '2025' FROM users WHERE email = '\(device)@x'
      INSERT INTO comments (post_id, body) SELECT id, '\(device) says' FROM posts WHERE title IN ('Hello', '\(device) post')
      UPDATE posts SET comments_count = comments_count + 1, updated_at = '2025-\(device)' WHERE title IN ('Hello', '\(device) post')
      INSERT INTO taggings (taggable_type, taggable_id, tag_id) SELECT 'Post', p.id, t.id FROM posts p, tags t WHERE title = '\(device) post'
      """
    }.enumerated().map { $1 + ["", "\nDELETE FROM posts WHERE title = 'Bye'"][$0] },
    numbered: ["users", "posts", "comments", "tags", "taggings"],
    following:
      "UPDATE taggings SET taggable_id = (SELECT id FROM posts WHERE posts.rowid = taggable_id) WHERE taggable_type = 'Post'",
    leftOut: ["schema_migrations", "ar_internal_metadata"],
    policies: ["posts": ["comments_count": .counter, "updated_at": .maximum]],
    mixed: """
      SELECT 1 FROM posts p JOIN users u ON u.id = user_id JOIN comments c ON c.post_id = p.id
      WHERE title LIKE '_ post' AND (substr(title, 1, 1) <> substr(email, 1, 1) OR substr(body, 1, 1) <> substr(email, 1, 1))
      """,
    results: [
      "SELECT comments_count, updated_at FROM posts WHERE title = 'Hello'": [[3, "2025-B"]],
      "SELECT body FROM comments JOIN posts p ON p.id = post_id WHERE title = 'Hello' ORDER BY 1": [
        ["A says"], ["B says"], ["first"],
      ],
      "SELECT title, name FROM taggings JOIN tags t ON t.id = tag_id LEFT JOIN posts p ON p.id = taggable_id ORDER BY 1":
        [[.null, "news"], ["A post", "news"], ["B post", "news"]],
    ])

  static let places = ApplicationSchema(
    name: "Firefox places",
    schema: """
      CREATE TABLE moz_origins (id INTEGER PRIMARY KEY, prefix TEXT NOT NULL, host TEXT NOT NULL, frecency INTEGER NOT NULL, UNIQUE (prefix, host))
      CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR, visit_count INTEGER DEFAULT 0,
        url_hash INTEGER DEFAULT 0 NOT NULL, guid TEXT, origin_id INTEGER REFERENCES moz_origins (id))
      CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, place_id INTEGER REFERENCES moz_places, visit_date INTEGER, from_visit INTEGER)
      CREATE TABLE moz_bookmarks (id INTEGER PRIMARY KEY, type INTEGER, fk INTEGER DEFAULT NULL REFERENCES moz_places,
        parent INTEGER REFERENCES moz_bookmarks, position INTEGER, title LONGVARCHAR, guid TEXT)
      CREATE UNIQUE INDEX moz_places_guid_uniqueindex ON moz_places (guid)
      CREATE UNIQUE INDEX moz_bookmarks_guid_uniqueindex ON moz_bookmarks (guid)
      CREATE INDEX moz_places_url_hashindex ON moz_places (url_hash)
      CREATE INDEX moz_bookmarks_itemindex ON moz_bookmarks (fk, type)
      """,
    rows: """
      INSERT INTO moz_origins VALUES (1, 'https://', 'a.org', 1)
      INSERT INTO moz_places VALUES (1, 'https://a.org/', 'A org', 3, 77, 'gp1', 1)
      INSERT INTO moz_historyvisits VALUES (1, 1, 100, 0)
      INSERT INTO moz_bookmarks VALUES (1, 2, NULL, NULL, 0, '', 'root________'), (2, 2, NULL, 1, 0, 'menu', 'menu________'), (3, 1, 1, 2, 0, 'a', 'gb1')
      """,
    edits: ["A", "B"].map { device in
      """
      INSERT INTO moz_origins (prefix, host, frecency) VALUES ('https://', '\(device).net', 2)
      INSERT INTO moz_places (url, title, url_hash, guid, origin_id) SELECT 'https://\(device).net/', '\(device) net', 5, 'g\(device)', id FROM moz_origins WHERE host = '\(device).net'
      INSERT INTO moz_historyvisits (place_id, visit_date, from_visit) SELECT id, 200, 0 FROM moz_places WHERE guid IN ('gp1', 'g\(device)')
      UPDATE moz_places SET visit_count = visit_count + 1 WHERE guid IN ('gp1', 'g\(device)')
      INSERT INTO moz_bookmarks (type, parent, position, title, guid) SELECT 2, id, 1, '\(device) folder', 'f\(device)' FROM moz_bookmarks WHERE guid = 'menu________'
      INSERT INTO moz_bookmarks (type, fk, parent, position, title, guid) SELECT 1, p.id, f.id, 0, '\(device) mark', 'm\(device)' FROM moz_places p, moz_bookmarks f WHERE p.guid = 'g\(device)' AND f.guid = 'f\(device)'
      """
    },
    numbered: ["moz_origins", "moz_places", "moz_historyvisits", "moz_bookmarks"],
    policies: ["moz_places": ["visit_count": .counter]],
    mixed: """
      SELECT 1 FROM moz_bookmarks b JOIN moz_bookmarks f ON f.id = b.parent JOIN moz_places p ON p.id = b.fk JOIN moz_origins o ON o.id = origin_id
      WHERE b.guid LIKE 'm_' AND (b.guid <> 'm' || substr(f.title, 1, 1) OR b.guid <> 'm' || substr(p.title, 1, 1) OR b.guid <> 'm' || substr(host, 1, 1))
      """,
    results: [
      "SELECT visit_count FROM moz_places ORDER BY guid": [[1], [1], [5]],
      "SELECT b.guid, p.guid FROM moz_bookmarks b JOIN moz_bookmarks p ON p.id = b.parent ORDER BY 1":
        [
          ["fA", "menu________"], ["fB", "menu________"], ["gb1", "menu________"], ["mA", "fA"],
          ["mB", "fB"], ["menu________", "root________"],
        ],
      "SELECT count(*) FROM moz_historyvisits JOIN moz_places p ON p.id = place_id": [[5]],
    ])

  static let anki = ApplicationSchema(
    name: "Anki",
    schema: """
      CREATE TABLE col (id integer PRIMARY KEY, crt integer NOT NULL, mod integer NOT NULL, conf text NOT NULL)
      CREATE TABLE notes (id integer PRIMARY KEY, guid text NOT NULL, mid integer NOT NULL, mod integer NOT NULL, usn integer NOT NULL,
        tags text NOT NULL, flds text NOT NULL, sfld integer NOT NULL, csum integer NOT NULL)
      CREATE TABLE cards (id integer PRIMARY KEY, nid integer NOT NULL, did integer NOT NULL, ord integer NOT NULL, due integer NOT NULL,
        ivl integer NOT NULL, reps integer NOT NULL, lapses integer NOT NULL)
      CREATE TABLE revlog (id integer PRIMARY KEY, cid integer NOT NULL, ease integer NOT NULL, ivl integer NOT NULL)
      CREATE TABLE graves (usn integer NOT NULL, oid integer NOT NULL, type integer NOT NULL)
      CREATE INDEX ix_cards_nid ON cards (nid)
      CREATE INDEX ix_notes_csum ON notes (csum)
      """,
    rows: """
      INSERT INTO col VALUES (1, 1500000000, 1, '{}')
      INSERT INTO notes VALUES (1500000000001, 'abc', 1, 1, -1, '', 'front' || char(31) || 'back', 'front', 12)
      INSERT INTO cards VALUES (1500000000002, 1500000000001, 1, 0, 5, 1, 3, 0)
      """,
    // Numbers are the milliseconds at which something is made.
    edits: [("A", 16), ("B", 17)].map { device, time in
      """
      INSERT INTO notes VALUES (\(time)00000000001, 'g\(device)', 1, 2, -1, ' x ', '\(device) q' || char(31) || 'a', '00\(time)', 4)
      INSERT INTO cards VALUES (\(time)00000000002, \(time)00000000001, 1, 0, 1, 0, 0, 0)
      INSERT INTO revlog VALUES (\(time)00000000003, 1500000000002, 3, 4)
      UPDATE cards SET reps = reps + 1, ivl = \(time), due = 6 WHERE id = 1500000000002
      UPDATE col SET mod = \(time)
      """
    },
    assignsNumbers: true, leftOut: ["graves"],
    policies: ["cards": ["reps": .counter, "ivl": .maximum], "col": ["mod": .maximum]],
    mixed:
      "SELECT 1 FROM cards c JOIN notes n ON n.id = nid WHERE c.id / 100000000000 <> n.id / 100000000000",
    results: [
      "SELECT reps, ivl, due FROM cards ORDER BY id LIMIT 1": [[5, 17, 6]],
      "SELECT mod FROM col": [[17]],
      "SELECT count(*) FROM revlog JOIN cards c ON c.id = cid": [[2]],
      "SELECT sfld FROM notes ORDER BY id": [["front"], [16], [17]],
    ])

  static let wordPress = ApplicationSchema(
    name: "WordPress",
    schema: """
      CREATE TABLE wp_users (ID INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, user_login TEXT NOT NULL DEFAULT '' COLLATE NOCASE)
      CREATE TABLE wp_posts (ID INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, post_author INTEGER NOT NULL DEFAULT '0',
        post_title TEXT NOT NULL COLLATE NOCASE, post_parent INTEGER NOT NULL DEFAULT '0', comment_count INTEGER NOT NULL DEFAULT '0')
      CREATE TABLE wp_postmeta (meta_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, post_id INTEGER NOT NULL DEFAULT '0', meta_key TEXT, meta_value TEXT)
      CREATE TABLE wp_terms (term_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, slug TEXT NOT NULL DEFAULT '')
      CREATE TABLE wp_term_relationships (object_id INTEGER NOT NULL DEFAULT '0', term_taxonomy_id INTEGER NOT NULL DEFAULT '0',
        term_order INTEGER NOT NULL DEFAULT '0', PRIMARY KEY (object_id, term_taxonomy_id))
      CREATE TABLE wp_options (option_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, option_name TEXT NOT NULL DEFAULT '', option_value TEXT NOT NULL)
      CREATE UNIQUE INDEX wp_options__option_name ON wp_options (option_name)
      CREATE INDEX wp_postmeta__post_id ON wp_postmeta (post_id)
      """,
    rows: """
      INSERT INTO wp_users VALUES (1, 'admin')
      INSERT INTO wp_posts VALUES (1, 1, 'Hello', 0, 0), (2, 1, 'Page', 1, 0)
      INSERT INTO wp_postmeta VALUES (1, 2, '_lock', 'x')
      INSERT INTO wp_terms VALUES (1, 'news')
      INSERT INTO wp_term_relationships VALUES (1, 1, 0)
      INSERT INTO wp_options VALUES (1, 'siteurl', 'http://x')
      """,
    edits: ["A", "B"].map { device in
      """
      INSERT INTO wp_users (user_login) VALUES ('\(device)uthor')
      INSERT INTO wp_posts (post_author, post_title, post_parent) SELECT u.ID, '\(device) post', p.ID FROM wp_users u, wp_posts p WHERE user_login = '\(device)uthor' AND post_title = 'Hello'
      INSERT INTO wp_postmeta (post_id, meta_key, meta_value) SELECT ID, 'by', '\(device)' FROM wp_posts WHERE post_title = '\(device) post'
      INSERT INTO wp_term_relationships (object_id, term_taxonomy_id) SELECT ID, term_id FROM wp_posts, wp_terms WHERE post_title = '\(device) post'
      INSERT INTO wp_options (option_name, option_value) VALUES ('cron', '\(device)')
      """
    },
    numbered: ["wp_users", "wp_posts", "wp_postmeta", "wp_terms", "wp_options"],
    // None of its references is a foreign key, and zero stands for none.
    following: """
      UPDATE wp_posts SET post_author = (SELECT ID FROM wp_users u WHERE u.rowid = post_author),
        post_parent = coalesce((SELECT ID FROM wp_posts p WHERE p.rowid = wp_posts.post_parent), post_parent)
      UPDATE wp_postmeta SET post_id = (SELECT ID FROM wp_posts p WHERE p.rowid = post_id)
      UPDATE wp_term_relationships SET object_id = (SELECT ID FROM wp_posts p WHERE p.rowid = object_id),
        term_taxonomy_id = (SELECT term_id FROM wp_terms t WHERE t.rowid = term_taxonomy_id)
      """,
    mixed: """
      SELECT 1 FROM wp_postmeta m JOIN wp_posts p ON p.ID = post_id JOIN wp_users u ON u.ID = post_author
      WHERE meta_key = 'by' AND (meta_value <> substr(post_title, 1, 1) OR meta_value <> substr(user_login, 1, 1))
      """,
    results: [
      "SELECT p.post_title, q.post_title FROM wp_posts p LEFT JOIN wp_posts q ON q.ID = p.post_parent ORDER BY 1":
        [["A post", "Hello"], ["B post", "Hello"], ["Hello", .null], ["Page", "Hello"]],
      "SELECT count(*) FROM wp_term_relationships JOIN wp_posts ON ID = object_id JOIN wp_terms ON term_id = term_taxonomy_id":
        [[3]],
      "SELECT option_value FROM wp_options ORDER BY 1": [["A"], ["http://x"]],
    ], rejected: [0, 1])

  /// Core Data reads its own numbers, so its tables stay as they are. Tables of the application, with the identifiers of
  /// its objects as keys, are synchronized in their place.
  static let coreData = ApplicationSchema(
    name: "Core Data",
    schema: """
      CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)
      CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)
      CREATE TABLE ZFOLDER (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR, ZUUID BLOB)
      CREATE TABLE ZNOTE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZFOLDER INTEGER, ZTITLE VARCHAR, ZEDITED TIMESTAMP, ZUUID BLOB)
      CREATE TABLE folder (id BLOB PRIMARY KEY NOT NULL, name TEXT)
      CREATE TABLE note (id BLOB PRIMARY KEY NOT NULL, folder BLOB REFERENCES folder ON DELETE SET NULL, title TEXT, edited REAL)
      CREATE INDEX ZNOTE_ZFOLDER_INDEX ON ZNOTE (ZFOLDER)
      """,
    rows: """
      INSERT INTO Z_PRIMARYKEY VALUES (1, 'Folder', 0, 1), (2, 'Note', 0, 1)
      INSERT INTO ZFOLDER VALUES (1, 1, 1, 'Inbox', x'01')
      INSERT INTO ZNOTE VALUES (1, 2, 1, 1, 'Welcome', 700000000.25, x'02')
      INSERT INTO folder SELECT ZUUID, ZNAME FROM ZFOLDER
      INSERT INTO note SELECT n.ZUUID, f.ZUUID, ZTITLE, ZEDITED FROM ZNOTE n LEFT JOIN ZFOLDER f ON f.Z_PK = n.ZFOLDER
      """,
    edits: [("A", 10), ("B", 11)].map { device, number in
      """
      INSERT INTO ZFOLDER VALUES (2, 1, 1, '\(device) folder', x'\(number)')
      INSERT INTO ZNOTE VALUES (2, 2, 1, 2, '\(device) note', 700000001.5, x'\(number)00')
      INSERT INTO folder VALUES (x'\(number)', '\(device) folder')
      INSERT INTO note VALUES (x'\(number)00', x'\(number)', '\(device) note', 700000001.5)
      """
    }.enumerated().map {
      $1
        + [
          "\nUPDATE note SET title = 'Welcome!' WHERE id = x'02'",
          "\nUPDATE note SET edited = 7e8 WHERE id = x'02'\nDELETE FROM folder WHERE id = x'01'",
        ][$0]
    },
    leftOut: ["Z_PRIMARYKEY", "Z_METADATA", "ZFOLDER", "ZNOTE"],
    mixed:
      "SELECT 1 FROM note n JOIN folder f ON f.id = folder WHERE title LIKE '_ note' AND substr(title, 1, 1) <> substr(name, 1, 1)",
    results: [
      "SELECT title, edited, folder FROM note WHERE id = x'02'": [["Welcome!", 7e8, .null]],
      "SELECT title, name FROM note n JOIN folder f ON f.id = folder ORDER BY 1": [
        ["A note", "A folder"], ["B note", "B folder"],
      ],
    ])

  static let joplin = ApplicationSchema(
    name: "Joplin",
    schema: """
      CREATE TABLE folders (id TEXT PRIMARY KEY, title TEXT NOT NULL DEFAULT "", parent_id TEXT NOT NULL DEFAULT "", updated_time INT NOT NULL DEFAULT 0)
      CREATE TABLE notes (id TEXT PRIMARY KEY, parent_id TEXT NOT NULL DEFAULT "", title TEXT NOT NULL DEFAULT "", body TEXT NOT NULL DEFAULT "",
        updated_time INT NOT NULL DEFAULT 0, latitude NUMERIC NOT NULL DEFAULT 0, is_todo INT NOT NULL DEFAULT 0)
      CREATE TABLE tags (id TEXT PRIMARY KEY, title TEXT NOT NULL DEFAULT "")
      CREATE TABLE note_tags (id TEXT PRIMARY KEY, note_id TEXT NOT NULL DEFAULT "", tag_id TEXT NOT NULL DEFAULT "")
      CREATE VIRTUAL TABLE notes_fts USING fts5 (title, body, content = 'notes')
      CREATE INDEX notes_updated_time ON notes (updated_time)
      CREATE VIEW tags_with_note_count AS SELECT tags.id, title, count(*) AS count FROM tags JOIN note_tags ON tag_id = tags.id GROUP BY tags.id
      CREATE TRIGGER notes_ai AFTER INSERT ON notes BEGIN INSERT INTO notes_fts (rowid, title, body) VALUES (new.rowid, new.title, new.body); END
      CREATE TRIGGER notes_ad AFTER DELETE ON notes BEGIN
        INSERT INTO notes_fts (notes_fts, rowid, title, body) VALUES ('delete', old.rowid, old.title, old.body); END
      CREATE TRIGGER notes_au AFTER UPDATE ON notes BEGIN
        INSERT INTO notes_fts (notes_fts, rowid, title, body) VALUES ('delete', old.rowid, old.title, old.body);
        INSERT INTO notes_fts (rowid, title, body) VALUES (new.rowid, new.title, new.body); END
      """,
    rows: """
      INSERT INTO folders VALUES ('f0', 'Notebook', '', 1)
      INSERT INTO notes VALUES ('n0', 'f0', 'Plan', 'one' || char(10) || 'two' || char(10) || 'three', 1, 0, 0), ('n1', 'f0', 'Old', 'x', 1, 47.5, 0)
      INSERT INTO tags VALUES ('t0', 'work')
      INSERT INTO note_tags VALUES ('nt0', 'n0', 't0')
      """,
    edits: ["A", "B"].map { device in
      """
      INSERT INTO folders VALUES ('f\(device)', '\(device) notebook', 'f0', 2)
      INSERT INTO notes (id, parent_id, title, body) VALUES ('n\(device)', 'f\(device)', '\(device) note', 'zebra \(device)')
      INSERT INTO note_tags VALUES ('nt\(device)', 'n\(device)', 't0')
      UPDATE notes SET body = replace(body, '\(device == "A" ? "one" : "three")', '\(device)'), updated_time = \(device == "A" ? 5 : 6) WHERE id = 'n0'
      """
    }.enumerated().map {
      $1
        + [
          "\nUPDATE notes SET is_todo = 1 WHERE id = 'n1'",
          "\nDELETE FROM note_tags WHERE id = 'nt0'",
        ][$0]
    },
    policies: ["notes": ["body": .text, "updated_time": .maximum]],
    mixed:
      "SELECT 1 FROM notes n JOIN folders f ON f.id = n.parent_id WHERE n.id <> 'n0' AND n.id <> 'n1' AND substr(n.title, 1, 1) <> substr(f.title, 1, 1)",
    checks: "INSERT INTO notes_fts (notes_fts) VALUES ('integrity-check')",
    results: [
      "SELECT body, updated_time FROM notes WHERE id = 'n0'": [["A\ntwo\nB", 6]],
      "SELECT n.id FROM notes_fts JOIN notes n ON n.rowid = notes_fts.rowid WHERE notes_fts MATCH 'zebra' ORDER BY 1":
        [["nA"], ["nB"]],
      "SELECT count FROM tags_with_note_count": [[2]],
    ])

  static let reminders = ApplicationSchema(
    name: "Reminders",
    schema: """
      CREATE TABLE "remindersLists" ("id" TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (lower(hex(randomblob(16)))),
        "color" INTEGER NOT NULL DEFAULT 255, "position" INTEGER NOT NULL DEFAULT 0, "title" TEXT NOT NULL DEFAULT '') STRICT
      CREATE TABLE "reminders" ("id" TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (lower(hex(randomblob(16)))),
        "dueDate" TEXT, "isFlagged" INTEGER NOT NULL DEFAULT 0, "notes" TEXT NOT NULL DEFAULT '', "status" INTEGER NOT NULL DEFAULT 0,
        "remindersListID" TEXT NOT NULL REFERENCES "remindersLists" ("id") ON DELETE CASCADE, "title" TEXT NOT NULL DEFAULT '') STRICT
      CREATE TABLE "tags" ("title" TEXT COLLATE NOCASE PRIMARY KEY NOT NULL) STRICT
      CREATE TABLE "remindersTags" ("id" TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (lower(hex(randomblob(16)))),
        "reminderID" TEXT NOT NULL REFERENCES "reminders" ("id") ON DELETE CASCADE,
        "tagID" TEXT NOT NULL REFERENCES "tags" ("title") ON DELETE CASCADE ON UPDATE CASCADE) STRICT
      CREATE INDEX "index_reminders" ON "reminders" ("remindersListID")
      CREATE TRIGGER "nonempty" AFTER DELETE ON "remindersLists" WHEN NOT EXISTS (SELECT 1 FROM "remindersLists") BEGIN
        INSERT INTO "remindersLists" ("title") VALUES ('Personal'); END
      """,
    rows: """
      INSERT INTO remindersLists VALUES ('l1', 255, 0, 'Family'), ('l2', 255, 1, 'Work')
      INSERT INTO reminders (id, remindersListID, title) VALUES ('r1', 'l1', 'milk'), ('r2', 'l2', 'mail')
      INSERT INTO tags VALUES ('soon')
      INSERT INTO remindersTags VALUES ('rt1', 'r1', 'soon')
      """,
    edits: ["A", "B"].map { device in
      """
      INSERT INTO remindersLists (title) VALUES ('\(device) list')
      INSERT INTO reminders (remindersListID, title) SELECT id, '\(device) thing' FROM remindersLists WHERE title = '\(device) list'
      INSERT INTO tags VALUES ('\(device == "A" ? "Weekend" : "weekend")')
      INSERT INTO remindersTags (reminderID, tagID) SELECT id, '\(device == "A" ? "Weekend" : "weekend")' FROM reminders WHERE title = '\(device) thing'
      """
    }.enumerated().map {
      $1
        + [
          "\nDELETE FROM remindersLists WHERE id = 'l2'",
          "\nUPDATE reminders SET isFlagged = 1 WHERE id = 'r1'",
        ][$0]
    },
    mixed:
      "SELECT 1 FROM reminders r JOIN remindersLists l ON l.id = remindersListID WHERE r.title LIKE '_ thing' AND substr(r.title, 1, 1) <> substr(l.title, 1, 1)",
    results: [
      "SELECT title FROM remindersLists ORDER BY 1": [["A list"], ["B list"], ["Family"]],
      "SELECT title, isFlagged FROM reminders ORDER BY 1": [
        ["A thing", 0], ["B thing", 0], ["milk", 1],
      ],
      "SELECT count(*) FROM tags WHERE title = 'weekend'": [[1]],
      "SELECT title FROM remindersTags JOIN reminders r ON r.id = reminderID WHERE tagID = 'weekend' COLLATE NOCASE ORDER BY 1":
        [["A thing"], ["B thing"]],
    ], rejected: [0, 1])

  static let messenger = ApplicationSchema(
    name: "Messenger",
    schema: """
      CREATE TABLE recipient (_id INTEGER PRIMARY KEY AUTOINCREMENT, aci TEXT UNIQUE DEFAULT NULL, e164 TEXT UNIQUE DEFAULT NULL, name TEXT)
      CREATE TABLE thread (_id INTEGER PRIMARY KEY AUTOINCREMENT, recipient_id INTEGER NOT NULL UNIQUE REFERENCES recipient (_id) ON DELETE CASCADE,
        unread_count INTEGER DEFAULT 0, snippet TEXT)
      CREATE TABLE message (_id INTEGER PRIMARY KEY AUTOINCREMENT, date_sent INTEGER NOT NULL,
        thread_id INTEGER NOT NULL REFERENCES thread (_id) ON DELETE CASCADE,
        from_recipient_id INTEGER NOT NULL REFERENCES recipient (_id) ON DELETE CASCADE, body TEXT, quote_id INTEGER REFERENCES message)
      CREATE TABLE reaction (_id INTEGER PRIMARY KEY, message_id INTEGER NOT NULL REFERENCES message (_id) ON DELETE CASCADE,
        author_id INTEGER NOT NULL REFERENCES recipient (_id) ON DELETE CASCADE, emoji TEXT NOT NULL, UNIQUE (message_id, author_id) ON CONFLICT REPLACE)
      CREATE UNIQUE INDEX message_unique_sent_from_thread ON message (date_sent, from_recipient_id, thread_id)
      CREATE INDEX message_quote ON message (quote_id) WHERE quote_id IS NOT NULL
      """,
    rows: """
      INSERT INTO recipient VALUES (1, 'self', '+1', 'me'), (2, 'u2', '+2', 'you')
      INSERT INTO thread VALUES (1, 2, 0, 'hi')
      INSERT INTO message VALUES (1, 100, 1, 2, 'hi', NULL)
      INSERT INTO reaction VALUES (1, 1, 1, '+')
      """,
    edits: ["A", "B"].map { device in
      """
      INSERT INTO recipient (aci, name) VALUES ('u\(device)', '\(device) friend')
      INSERT INTO thread (recipient_id) SELECT _id FROM recipient WHERE aci = 'u\(device)'
      INSERT INTO message (date_sent, thread_id, from_recipient_id, body) SELECT 200, t._id, r._id, '\(device) hello' FROM recipient r JOIN thread t ON t.recipient_id = r._id WHERE aci = 'u\(device)'
      INSERT INTO message (date_sent, thread_id, from_recipient_id, body, quote_id) SELECT 201, m.thread_id, s._id, '\(device) hello back', m._id FROM message m, recipient s WHERE m.body = '\(device) hello' AND s.aci = 'self'
      INSERT INTO reaction (message_id, author_id, emoji) SELECT m._id, r._id, '\(device)' FROM message m, recipient r WHERE body = 'hi' AND aci = 'u2'
      UPDATE thread SET unread_count = unread_count + 1, snippet = '\(device)' WHERE recipient_id = (SELECT _id FROM recipient WHERE aci = 'u2')
      """
    },
    numbered: ["recipient", "thread", "message", "reaction"],
    policies: ["thread": ["unread_count": .counter, "snippet": .maximum]],
    mixed: """
      SELECT 1 FROM message m JOIN thread t ON t._id = m.thread_id JOIN recipient r ON r._id = t.recipient_id LEFT JOIN message q ON q._id = m.quote_id
      WHERE m.body LIKE '_ hello%' AND (substr(m.body, 1, 1) <> substr(r.name, 1, 1) OR substr(q.body, 1, 1) <> substr(r.name, 1, 1))
      """,
    results: [
      "SELECT unread_count, snippet FROM thread JOIN recipient r ON r._id = recipient_id WHERE aci = 'u2'":
        [[2, "B"]],
      "SELECT body FROM message ORDER BY 1": [
        ["A hello"], ["A hello back"], ["B hello"], ["B hello back"], ["hi"],
      ],
      "SELECT emoji FROM reaction ORDER BY 1": [["+"], ["A"]],
    ], rejected: [0, 1])

  static let chatServer = ApplicationSchema(
    name: "Chat server",
    schema: """
      CREATE TABLE users (name TEXT, creation_ts BIGINT, admin SMALLINT DEFAULT 0 NOT NULL, UNIQUE (name))
      CREATE TABLE rooms (room_id TEXT PRIMARY KEY NOT NULL, is_public BOOL, creator TEXT)
      CREATE TABLE events (event_id TEXT NOT NULL PRIMARY KEY, topological_ordering BIGINT NOT NULL, type TEXT NOT NULL,
        room_id TEXT NOT NULL REFERENCES rooms, content TEXT, depth BIGINT DEFAULT 0 NOT NULL)
      CREATE TABLE event_edges (event_id TEXT NOT NULL REFERENCES events, prev_event_id TEXT NOT NULL, is_state BOOL NOT NULL DEFAULT 0,
        PRIMARY KEY (event_id, prev_event_id, is_state)) WITHOUT ROWID
      CREATE TABLE receipts_linearized (room_id TEXT NOT NULL, receipt_type TEXT NOT NULL, user_id TEXT NOT NULL, event_id TEXT NOT NULL,
        data TEXT NOT NULL, CONSTRAINT receipts_uniqueness PRIMARY KEY (room_id, receipt_type, user_id))
      CREATE TABLE room_memberships (event_id TEXT NOT NULL UNIQUE REFERENCES events, user_id TEXT NOT NULL, room_id TEXT NOT NULL, membership TEXT NOT NULL,
        PRIMARY KEY (room_id, user_id))
      CREATE INDEX events_order ON events (topological_ordering, room_id)
      CREATE UNIQUE INDEX one_create ON events (room_id) WHERE type = 'create'
      """,
    rows: """
      INSERT INTO users VALUES ('@a:x', 1, 1)
      INSERT INTO rooms VALUES ('!r:x', 1, '@a:x')
      INSERT INTO events VALUES ('$1', 1, 'create', '!r:x', '{}', 1), ('$2', 2, 'member', '!r:x', '{}', 2)
      INSERT INTO event_edges VALUES ('$2', '$1', 0)
      INSERT INTO room_memberships VALUES ('$2', '@a:x', '!r:x', 'join')
      INSERT INTO receipts_linearized VALUES ('!r:x', 'm.read', '@a:x', '$1', '{}')
      """,
    edits: ["A", "B"].map { device in
      """
      INSERT INTO rooms VALUES ('!\(device):x', 0, '@a:x')
      INSERT INTO events VALUES ('$\(device)1', 1, 'create', '!\(device):x', '{}', 1), ('$\(device)2', 3, 'message', '!r:x', '\(device)', 3)
      INSERT INTO event_edges VALUES ('$\(device)2', '$2', 0)
      UPDATE receipts_linearized SET event_id = '$\(device)2', data = '{"ts":\(device == "A" ? 1 : 2)}' WHERE user_id = '@a:x'
      INSERT INTO receipts_linearized VALUES ('!\(device):x', 'm.read', '@a:x', '$\(device)1', '{}')
      """
    },
    leftOut: ["users"],
    policies: ["receipts_linearized": ["event_id": .remote, "data": .remote]],
    mixed:
      "SELECT 1 FROM events e JOIN rooms r USING (room_id) WHERE e.type = 'create' AND substr(event_id, 2, 1) <> substr(room_id, 2, 1) AND event_id <> '$1'",
    results: [
      "SELECT event_id, data FROM receipts_linearized WHERE room_id = '!r:x'": [
        ["$A2", "{\"ts\":1}"]
      ],
      "SELECT event_id, prev_event_id FROM event_edges ORDER BY 1": [
        ["$2", "$1"], ["$A2", "$2"], ["$B2", "$2"],
      ],
    ])
}
