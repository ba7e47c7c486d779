import TandemRecords
import TandemReplica

/// The schema of an application in a few tables, with rows, and with edits that it makes on two devices at a time.
///
/// Rows that the devices add have names that begin with `A` and `B`.
struct ApplicationSchema: Sendable, CustomStringConvertible {
  var name: String
  /// Statements; a line that begins with a space continues the one before.
  var schema: String
  var rows: String
  /// The edits of the two devices.
  var edits: [String]
  /// The tables with keys that SQLite numbers.
  var numbered: [String] = []
  /// True if the application chooses the numbers, and no two devices choose one.
  var assignsNumbers = false
  /// Statements that make columns without a foreign key follow keys that became texts.
  var following = ""
  /// The tables that are not synchronized.
  var leftOut: [String] = []
  var policies: [String: [String: FieldPolicy]] = [:]
  /// A query for rows of one device that are beneath a row of the other one.
  var mixed: String
  /// Statements that find a fault of an index.
  var checks = ""
  /// Queries, and the results after the synchronization.
  var results: [String: [[FieldValue]]]
  /// The number of changes that are rejected, on each device.
  var rejected = [0, 0]

  var description: String { name }

  static let all = [
    chinook, northwind, sakila, django, rails, places, anki, wordPress, coreData, joplin, reminders,
    messenger, chatServer,
  ]

  static let chinook = ApplicationSchema(
    name: "Chinook",
    schema: """
      CREATE TABLE Artist (ArtistId INTEGER NOT NULL PRIMARY KEY, Name NVARCHAR(120))
      CREATE TABLE Album (AlbumId INTEGER NOT NULL, Title NVARCHAR(160) NOT NULL, ArtistId INTEGER NOT NULL,
        CONSTRAINT PK_Album PRIMARY KEY (AlbumId), FOREIGN KEY (ArtistId) REFERENCES Artist (ArtistId))
      CREATE TABLE Track (TrackId INTEGER NOT NULL PRIMARY KEY, Name NVARCHAR(200) NOT NULL,
        AlbumId INTEGER REFERENCES Album (AlbumId), UnitPrice NUMERIC(10,2) NOT NULL, Composer NVARCHAR(220))
      CREATE TABLE Playlist (PlaylistId INTEGER NOT NULL PRIMARY KEY, Name NVARCHAR(120))
      CREATE TABLE PlaylistTrack (PlaylistId INTEGER NOT NULL REFERENCES Playlist, TrackId INTEGER NOT NULL
        REFERENCES Track ON DELETE CASCADE, PRIMARY KEY (PlaylistId, TrackId))
      CREATE TABLE Employee (EmployeeId INTEGER NOT NULL PRIMARY KEY, LastName NVARCHAR(20) NOT NULL,
        ReportsTo INTEGER, FOREIGN KEY (ReportsTo) REFERENCES Employee (EmployeeId))
      CREATE INDEX IFK_TrackAlbumId ON Track (AlbumId)
      """,
    rows: """
      INSERT INTO Artist VALUES (1, 'Ella'), (2, 'Nina')
      INSERT INTO Album VALUES (1, 'Songs', 1), (2, 'Nights', 2)
      INSERT INTO Track VALUES (1, 'one', 1, 0.99, NULL), (2, 'two', 1, 1.29, 'X'), (3, 'three', 2, 0.99, NULL)
      INSERT INTO Playlist VALUES (1, 'all'), (2, 'best')
      INSERT INTO PlaylistTrack VALUES (1, 1), (1, 2), (1, 3), (2, 3)
      INSERT INTO Employee VALUES (1, 'boss', NULL), (2, 'sales', 1)
      """,
    edits: ["A", "B"].map { device in
      """
      INSERT INTO Artist (Name) VALUES ('\(device) Band')
      INSERT INTO Album (Title, ArtistId) SELECT '\(device) Live', ArtistId FROM Artist WHERE Name = '\(device) Band'
      INSERT INTO Track (Name, AlbumId, UnitPrice) SELECT '\(device) Intro', AlbumId, 2 FROM Album WHERE Title = '\(device) Live'
      INSERT INTO PlaylistTrack SELECT PlaylistId, TrackId FROM Playlist, Track WHERE Playlist.Name = 'best' AND Track.Name = '\(device) Intro'
      INSERT INTO Employee (LastName, ReportsTo) SELECT '\(device) new', EmployeeId FROM Employee WHERE LastName = 'sales'
      """
    }.enumerated().map {
      $1
        + [
          "\nUPDATE Track SET UnitPrice = 1.5 WHERE Name = 'one'",
          "\nUPDATE Track SET Composer = 'Y' WHERE Name = 'one'\nDELETE FROM Track WHERE Name = 'two'",
        ][$0]
    },
    numbered: ["Artist", "Album", "Track", "Playlist", "Employee"],
    mixed: """
      SELECT 1 FROM Track AS t JOIN Album AS l USING (AlbumId) JOIN Artist AS r USING (ArtistId)
      WHERE substr(t.Name, 1, 1) || substr(l.Title, 1, 1) || substr(r.Name, 1, 1) IN ('AAB', 'ABA', 'ABB', 'BAA', 'BAB', 'BBA')
      """,
    results: [
      "SELECT UnitPrice, Composer FROM Track WHERE Name = 'one'": [[1.5, "Y"]],
      "SELECT p.Name, t.Name FROM PlaylistTrack JOIN Playlist AS p USING (PlaylistId) JOIN Track AS t USING (TrackId) ORDER BY 1, 2":
        [
          ["all", "one"], ["all", "three"], ["best", "A Intro"], ["best", "B Intro"],
          ["best", "three"],
        ],
      "SELECT e.LastName, b.LastName FROM Employee AS e JOIN Employee AS b ON e.ReportsTo = b.EmployeeId ORDER BY 1":
        [["A new", "sales"], ["B new", "sales"], ["sales", "boss"]],
    ])

  static let northwind = ApplicationSchema(
    name: "Northwind",
    schema: """
      CREATE TABLE Categories (CategoryID INTEGER PRIMARY KEY AUTOINCREMENT, CategoryName TEXT UNIQUE, Picture BLOB)
      CREATE TABLE Products (ProductID INTEGER PRIMARY KEY AUTOINCREMENT, ProductName TEXT NOT NULL, CategoryID INTEGER,
        UnitPrice NUMERIC DEFAULT 0, UnitsInStock INTEGER DEFAULT 0, CHECK (UnitPrice >= 0), CHECK (UnitsInStock >= 0),
        FOREIGN KEY (CategoryID) REFERENCES Categories (CategoryID) ON DELETE NO ACTION ON UPDATE NO ACTION)
      CREATE TABLE Customers (CustomerID TEXT, CompanyName TEXT NOT NULL, PRIMARY KEY (CustomerID))
      CREATE TABLE Orders (OrderID INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, CustomerID TEXT, Freight NUMERIC DEFAULT 0,
        OrderDate DATETIME, FOREIGN KEY (CustomerID) REFERENCES Customers (CustomerID))
      CREATE TABLE "Order Details" (OrderID INTEGER NOT NULL, ProductID INTEGER NOT NULL, Quantity INTEGER NOT NULL DEFAULT 1,
        Discount REAL NOT NULL DEFAULT 0, PRIMARY KEY (OrderID, ProductID), CHECK (Discount >= 0 AND Discount <= 1),
        CHECK (Quantity > 0), FOREIGN KEY (OrderID) REFERENCES Orders (OrderID), FOREIGN KEY (ProductID) REFERENCES Products (ProductID))
      CREATE VIEW "Order Totals" AS SELECT OrderID, sum(Quantity * UnitPrice) AS total FROM "Order Details"
        JOIN Products USING (ProductID) GROUP BY OrderID
      """,
    rows: """
      INSERT INTO Categories VALUES (1, 'Drinks', x'01'), (2, 'Sweets', NULL)
      INSERT INTO Products VALUES (1, 'Tea', 1, 4.5, 20), (2, 'Cake', 2, 3, 20)
      INSERT INTO Customers VALUES ('ALFKI', 'Alfred'), ('BONAP', 'Bon')
      INSERT INTO Orders VALUES (10248, 'ALFKI', 1.5, '2020-01-01')
      INSERT INTO "Order Details" VALUES (10248, 1, 2, 0.0), (10248, 2, 1, 0.5)
      """,
    edits: ["A", "B"].map { device in
      """
      INSERT INTO Categories (CategoryName) VALUES ('Fruit')
      INSERT INTO Products (ProductName, CategoryID, UnitPrice) SELECT '\(device) pear', CategoryID, 1 FROM Categories WHERE CategoryName = 'Fruit'
      INSERT INTO Customers VALUES ('\(device)NEW', '\(device) Inc')
      INSERT INTO Orders (CustomerID, OrderDate) VALUES ('\(device)NEW', '2021')
      INSERT INTO "Order Details" (OrderID, ProductID, Quantity) SELECT OrderID, ProductID, 3 FROM Orders, Products WHERE CustomerID = '\(device)NEW' AND ProductName = 'Tea'
      UPDATE Products SET UnitsInStock = UnitsInStock - 3 WHERE ProductName = 'Tea'
      """
    },
    numbered: ["Categories", "Products", "Orders"],
    policies: ["Products": ["UnitsInStock": .counter]],
    mixed: """
      SELECT 1 FROM Orders JOIN Customers USING (CustomerID) JOIN "Order Details" USING (OrderID)
      WHERE substr(CompanyName, 1, 1) <> substr(CustomerID, 1, 1)
      """,
    results: [
      "SELECT UnitsInStock FROM Products WHERE ProductName = 'Tea'": [[14]],
      "SELECT count(*), sum(total) FROM \"Order Totals\"": [[3, 39.0]],
      // The second device's category of the same name is rejected, and its product with it.
      "SELECT ProductName, CategoryName FROM Products JOIN Categories USING (CategoryID) ORDER BY 1":
        [["A pear", "Fruit"], ["Cake", "Sweets"], ["Tea", "Drinks"]],
    ], rejected: [0, 2])

  static let sakila = ApplicationSchema(
    name: "Sakila",
    schema: """
      CREATE TABLE actor (actor_id INTEGER NOT NULL, last_name VARCHAR(45) NOT NULL, last_update TIMESTAMP, PRIMARY KEY (actor_id))
      CREATE TABLE film (film_id INTEGER NOT NULL PRIMARY KEY, title VARCHAR(255) NOT NULL, rating VARCHAR(10) DEFAULT 'G',
        rental_rate DECIMAL(4,2) DEFAULT 4.99, original INTEGER DEFAULT NULL REFERENCES film, last_update TIMESTAMP,
        CONSTRAINT special CHECK (rating IN ('G', 'PG', 'R')))
      CREATE TABLE film_actor (actor_id INT NOT NULL REFERENCES actor ON DELETE NO ACTION ON UPDATE CASCADE,
        film_id INT NOT NULL REFERENCES film ON UPDATE CASCADE, PRIMARY KEY (actor_id, film_id))
      CREATE TABLE inventory (inventory_id INTEGER NOT NULL PRIMARY KEY, film_id INT NOT NULL REFERENCES film, shelf TEXT)
      CREATE TABLE rental (rental_id INTEGER NOT NULL PRIMARY KEY, rental_date TIMESTAMP NOT NULL,
        inventory_id INT NOT NULL REFERENCES inventory, customer TEXT NOT NULL)
      CREATE UNIQUE INDEX idx_rental_uq ON rental (rental_date, inventory_id, customer)
      CREATE TRIGGER actor_ai AFTER INSERT ON actor BEGIN
        UPDATE actor SET last_update = '2020-01-01' WHERE rowid = new.rowid; END
      CREATE TRIGGER film_au AFTER UPDATE OF title, rating ON film BEGIN
        UPDATE film SET last_update = max(coalesce(last_update, ''), '2020-02-0' || length(new.title)) WHERE rowid = new.rowid; END
      """,
    rows: """
      INSERT INTO actor (actor_id, last_name) VALUES (1, 'ADA'), (2, 'BOB')
      INSERT INTO film (film_id, title, original) VALUES (1, 'Dune', NULL), (2, 'Dune2', 1)
      INSERT INTO film_actor VALUES (1, 1), (2, 1), (2, 2)
      INSERT INTO inventory VALUES (1, 1, 'x'), (2, 1, 'y'), (3, 2, 'x')
      INSERT INTO rental VALUES (1, '2005-05-24', 1, 'c')
      """,
    edits: ["A", "B"].map { device in
      """
      INSERT INTO actor (last_name) VALUES ('\(device) STAR')
      INSERT INTO film (title, original) SELECT '\(device) Movie', film_id FROM film WHERE title LIKE 'Dune' OR title LIKE 'Dunes'
      INSERT INTO film_actor SELECT actor_id, film_id FROM actor, film WHERE last_name = '\(device) STAR' AND title = '\(device) Movie'
      INSERT INTO inventory (film_id, shelf) SELECT film_id, '\(device) shelf' FROM film WHERE title = '\(device) Movie'
      INSERT INTO rental (rental_date, inventory_id, customer) SELECT '2006', inventory_id, '\(device)' FROM inventory WHERE shelf = '\(device) shelf'
      """
    }.enumerated().map {
      $1
        + [
          "\nUPDATE film SET title = 'Dunes' WHERE title = 'Dune'",
          "\nUPDATE film SET rating = 'PG' WHERE title = 'Dune'\nDELETE FROM rental WHERE customer = 'c'",
        ][$0]
    },
    numbered: ["actor", "film", "inventory", "rental"],
    policies: ["film": ["last_update": .maximum], "actor": ["last_update": .maximum]],
    mixed: """
      SELECT 1 FROM rental JOIN inventory USING (inventory_id) JOIN film USING (film_id) JOIN film_actor USING (film_id)
        JOIN actor USING (actor_id) WHERE customer <> 'c' AND customer || customer || customer
        <> substr(shelf, 1, 1) || substr(title, 1, 1) || substr(last_name, 1, 1)
      """,
    results: [
      "SELECT title, rating, last_update FROM film WHERE title LIKE 'Dune_' AND original IS NULL": [
        ["Dunes", "PG", "2020-02-05"]
      ],
      "SELECT customer FROM rental ORDER BY 1": [["A"], ["B"]],
      "SELECT count(*) FROM film AS f JOIN film AS o ON f.original = o.film_id": [[3]],
      "SELECT count(*) FROM actor WHERE last_update IS NULL": [[0]],
    ])

  static let django = ApplicationSchema(
    name: "Django",
    schema: """
      CREATE TABLE "django_migrations" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(255) NOT NULL)
      CREATE TABLE "auth_user" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "username" varchar(150) NOT NULL UNIQUE,
        "is_staff" bool NOT NULL, "last_login" datetime NULL, "first_name" varchar(150) NOT NULL)
      CREATE TABLE "auth_group" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(150) NOT NULL UNIQUE)
      CREATE TABLE "auth_user_groups" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT,
        "user_id" integer NOT NULL REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED,
        "group_id" integer NOT NULL REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED)
      CREATE TABLE "blog_entry" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "title" varchar(80) NOT NULL,
        "rating" smallint unsigned NOT NULL CHECK ("rating" >= 0), "meta" text NOT NULL CHECK ((JSON_VALID("meta") OR "meta" IS NULL)),
        "author_id" integer NOT NULL REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED)
      CREATE TABLE "django_session" ("session_key" varchar(40) NOT NULL PRIMARY KEY, "session_data" text NOT NULL)
      CREATE UNIQUE INDEX "auth_user_groups_uniq" ON "auth_user_groups" ("user_id", "group_id")
      CREATE INDEX "blog_entry_author" ON "blog_entry" ("author_id")
      """,
    rows: """
      INSERT INTO django_migrations (name) VALUES ('0001_initial')
      INSERT INTO auth_user VALUES (1, 'root', 1, NULL, ''), (2, 'eve', 0, NULL, 'Eve')
      INSERT INTO auth_group VALUES (1, 'editors'), (2, 'writers')
      INSERT INTO auth_user_groups VALUES (1, 1, 1)
      INSERT INTO blog_entry VALUES (1, 'Hello', 3, '{}', 2)
      """,
    edits: ["A", "B"].map { device in
      """
      INSERT INTO auth_user (username, is_staff, first_name) VALUES ('\(device)dam', 0, '\(device)')
      INSERT INTO auth_user_groups (user_id, group_id) SELECT u.id, g.id FROM auth_user u, auth_group g WHERE username = '\(device)dam' AND name = 'writers'
      INSERT INTO auth_user_groups (user_id, group_id) SELECT u.id, g.id FROM auth_user u, auth_group g WHERE username = 'eve' AND name = 'editors'
      INSERT INTO blog_entry (title, rating, meta, author_id) SELECT '\(device) post', 1, '{"by": "\(device)"}', id FROM auth_user WHERE username = '\(device)dam'
      INSERT INTO django_session VALUES ('\(device)', 'x')
      """
    }.enumerated().map {
      $1
        + [
          "\nUPDATE auth_user SET is_staff = 1 WHERE username = 'eve'",
          "\nUPDATE auth_user SET first_name = 'Eva', last_login = '2024' WHERE username = 'eve'",
        ][$0]
    },
    numbered: ["auth_user", "auth_group", "auth_user_groups", "blog_entry"],
    leftOut: ["django_migrations", "django_session"],
    mixed:
      "SELECT 1 FROM blog_entry e JOIN auth_user u ON u.id = author_id WHERE substr(title, 1, 1) <> substr(username, 1, 1) AND title <> 'Hello'",
    results: [
      "SELECT is_staff, first_name, last_login FROM auth_user WHERE username = 'eve'": [
        [1, "Eva", 2024]
      ],
      "SELECT username, name FROM auth_user_groups JOIN auth_user u ON u.id = user_id JOIN auth_group g ON g.id = group_id ORDER BY 1, 2":
        [["Adam", "writers"], ["Bdam", "writers"], ["eve", "editors"], ["root", "editors"]],
    ], rejected: [0, 1])
}
