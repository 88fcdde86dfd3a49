import { createRequire } from "node:module";

// The CommonJS build takes 35 MB where the same modules as ECMAScript modules take 240.
const require = createRequire(import.meta.url);

export const { and, eq, inArray } = require("drizzle-orm") as typeof import("drizzle-orm");
export const { drizzle } = require("drizzle-orm/better-sqlite3") as typeof import("drizzle-orm/better-sqlite3");
export const { integer, sqliteTable, text } = require("drizzle-orm/sqlite-core") as typeof import("drizzle-orm/sqlite-core");
