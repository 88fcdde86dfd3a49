// The collections of the chat and its two users, for servers before 0.23.
migrate((db) => {
  const dao = new Dao(db);
  const users = dao.findCollectionByNameOrId("users");
  for (const [id, name] of [["100000000000001", "sender"], ["100000000000002", "stranger"]]) {
    const user = new Record(users, { id, username: name, email: `${name}@example.com`, verified: true });
    user.setPassword("a secret of no worth");
    dao.saveRecord(user);
  }

  const text = (name) => ({ name, type: "text", options: { min: null, max: null, pattern: "" } });
  const number = (name) => ({ name, type: "number", options: { min: null, max: null, noDecimal: true } });
  const one = (name, collection) => ({
    name,
    type: "relation",
    options: { collectionId: collection.id, cascadeDelete: false, minSelect: null, maxSelect: 1, displayFields: null },
  });
  const collection = (name, schema, rules) => {
    const made = new Collection({ name, type: "base", schema, ...rules });
    dao.saveCollection(made);
    return dao.findCollectionByNameOrId(name);
  };
  const rooms = collection("rooms", [text("name")], {});
  collection("members", [one("room", rooms), one("user", users)], {});
  collection(
    "messages",
    [one("owner", users), one("room", rooms), number("connection"), number("index"), text("body")],
    {
      createRule: "@collection.members.room ?= room && @collection.members.user ?= @request.auth.id",
      viewRule: "",
    },
  );
});
