import { dirname } from "node:path";
import type { Database } from "better-sqlite3";
import { npmVersion as drizzleVersion } from "drizzle-orm/version";
import { once } from "../../shared/node/http.ts";
import { serve } from "../../shared/node/serve.ts";
import { type Address, parseAddress } from "./address.ts";
import { openDatabase, readSettings } from "./database.ts";

// The pool and the retries of the configuration are for others: the file has one writer, and refuses nothing for now.
await serve<Address, Database>({
  name: "sqlite",
  folder: dirname(import.meta.dirname),
  parseAddress,
  open({ address }) {
    const database = openDatabase(address);
    return {
      database,
      settings: { node: process.versions.node, "drizzle-orm": drizzleVersion, ...readSettings(database) },
      run: once,
      close: () => {
        database.close();
      },
    };
  },
});
