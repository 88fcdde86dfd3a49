import SQLite from "better-sqlite3";
import driverPackage from "better-sqlite3/package.json" with { type: "json" };
import type { Address } from "./address.ts";

/** What the engine says of itself under these names is part of the ready line. */
const READ_BACK = ["journal_mode", "synchronous", "page_size", "cache_size", "wal_autocheckpoint"];

/** One connection for all requests: SQLite has one writer at a time, and this process one thread. */
export function openDatabase({ path, synchronous }: Address): SQLite.Database {
  try {
    const database = new SQLite(path, { fileMustExist: true });
    // Always set: in WAL mode this driver's own default is NORMAL, not the FULL of SQLite.
    database.pragma(`synchronous = ${synchronous}`);
    return database;
  } catch (error) {
    throw new Error(`sqlite: ${path} cannot be opened: ${error instanceof Error ? error.message : error}`);
  }
}

export function readSettings(database: SQLite.Database): Record<string, string> {
  const settings: Record<string, string> = {
    sqlite_version: String(database.prepare("SELECT sqlite_version()").pluck().get()),
    driver: `better-sqlite3 ${driverPackage.version}`,
  };
  for (const name of READ_BACK) settings[name] = String(database.pragma(name, { simple: true }));
  return settings;
}
