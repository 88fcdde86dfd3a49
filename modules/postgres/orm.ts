import { createRequire } from "node:module";

// The CommonJS build takes 35 MB where the same modules as ECMAScript modules take 240.
const require = createRequire(import.meta.url);

export const { eq, inArray } = require("drizzle-orm") as typeof import("drizzle-orm");
export const { drizzle } = require("drizzle-orm/node-postgres") as typeof import("drizzle-orm/node-postgres");
export const { bigint, integer, pgTable } = require("drizzle-orm/pg-core") as typeof import("drizzle-orm/pg-core");
