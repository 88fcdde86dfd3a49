import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import Database from "better-sqlite3";
import { vector } from "./golden.ts";
import { configuration, transfers } from "./run.ts";

const PROJECT = join(import.meta.dirname, "../../..");
const CLOSED_PORT = 1;

/** Says on standard error which of the files below a module's folder the program loads. */
const SAY_LOADED = `
  import { registerHooks } from "node:module";
  import { writeSync } from "node:fs";
  registerHooks({ load: (url, context, next) => (writeSync(2, "loaded " + url + "\\n"), next(url, context)) });
`;

/** The operations and the object-relational mapper that a program loads for its input, by their files. */
async function loaded(program: string, input: object): Promise<string[]> {
  const hook = `data:text/javascript,${encodeURIComponent(SAY_LOADED)}`;
  const child = spawn(process.execPath, ["--import", hook, join(PROJECT, program)]);
  child.stdin.end(`${JSON.stringify(input)}\n`);
  const [, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  const files = [...errors.matchAll(/^loaded file:\/\/(.*)$/gm)].map(([, path]) => path!);
  return [...new Set(files.filter((path) => /\/operations\/|\/drizzle-orm\/.*(sqlite|pg|postgres)/.test(path)))].sort();
}

const directory = mkdtempSync(join(tmpdir(), "operations-"));
const path = join(directory, "empty.sqlite");
new Database(path).close();
test.after(() => rmSync(directory, { recursive: true }));

const login = { host: "127.0.0.1", port: CLOSED_PORT, user: "nobody", password: "none", database: "nothing" };
const listen = { host: "127.0.0.1", port: 0 };
const server = (workload: string, access: string, address: object) => ({ workload, access, listen, pool_size: 1, ...address });

for (const [system, workload, level, endpoint] of [
  ["sqlite", transfers, "sql", { path, synchronous: "OFF" }],
  ["sqlite", transfers, "drizzle", { path, synchronous: "OFF" }],
  ["sqlite", vector("chat", "default"), "sql", { path, synchronous: "OFF" }],
  ["sqlite", vector("chat", "default"), "drizzle", { path, synchronous: "OFF" }],
  ["sqlite", vector("counter-and-messages", "default"), "sql", { path, synchronous: "OFF" }],
  ["postgres", transfers, "sql", login],
  ["postgres", transfers, "drizzle", login],
] as const) {
  const { name } = workload.workload;
  test(`${system}, ${name}, ${level}: the client runs the very files that the server before it runs`, async () => {
    const called = { protocol: system, mode: level, ...endpoint };
    const byClient = await loaded("clients/node/main.ts", configuration(called, {}, workload));
    const byServer = await loaded(`modules/${system}/rpc/server.ts`, server(name, level, { [system]: endpoint }));
    assert.deepEqual(byClient, byServer);
    const operations = `modules/${system}/${name}/operations/${level}.ts`;
    assert.ok(byClient.includes(join(PROJECT, operations)), `${operations} is not among ${byClient.join(", ")}`);
    assert.equal(byClient.some((file) => file.includes("/drizzle-orm/")), level === "drizzle");
  });
}
