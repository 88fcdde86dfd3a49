// The collections of the chat and its two users, for servers from 0.23 on.
migrate((app) => {
  const users = app.findCollectionByNameOrId("users");
  for (const [id, name] of [["100000000000001", "sender"], ["100000000000002", "stranger"]]) {
    const user = new Record(users);
    user.set("id", id);
    user.set("email", `${name}@example.com`);
    user.set("verified", true);
    user.setPassword("a secret of no worth");
    app.save(user);
  }

  const text = (name) => ({ name, type: "text" });
  const number = (name) => ({ name, type: "number", onlyInt: true });
  const one = (name, collection) => ({ name, type: "relation", collectionId: collection.id, maxSelect: 1 });
  const dates = [
    { name: "created", type: "autodate", onCreate: true, onUpdate: false },
    { name: "updated", type: "autodate", onCreate: true, onUpdate: true },
  ];
  const collection = (name, fields, rules) => {
    const made = new Collection({ name, type: "base", fields: [...fields, ...dates], ...rules });
    app.save(made);
    return app.findCollectionByNameOrId(name);
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
