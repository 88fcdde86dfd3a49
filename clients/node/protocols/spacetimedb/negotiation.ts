import { randomBytes } from "node:crypto";
import { request } from "node:http";
import type { Login } from "./login.ts";

export type Version = "v1" | "v2" | "v3";

const SHOWN_CHARACTERS = 300;
const SUBPROTOCOLS: readonly (readonly [string, Version])[] = [
  ["v3.bsatn.spacetimedb", "v3"],
  ["v2.bsatn.spacetimedb", "v2"],
  ["v1.bsatn.spacetimedb", "v1"],
];

/**
 * Asks the server which version of the protocol it picks, on a WebSocket of its own that is closed at once: an SDK
 * speaks some versions only. Rejects when it picks none of those offered, from `newest` on.
 */
export function pickedVersion({ uri, database, token }: Login, newest: Version): Promise<Version> {
  const offered = SUBPROTOCOLS.filter(([, version]) => version <= newest);
  const offer = offered.map(([name]) => name).join(", ");
  return new Promise((resolve, reject) => {
    const asking = request(`${uri}/v1/database/${encodeURIComponent(database)}/subscribe?compression=None`, {
      headers: {
        Connection: "Upgrade",
        Upgrade: "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": randomBytes(16).toString("base64"),
        "Sec-WebSocket-Protocol": offer,
        Authorization: `Bearer ${token}`,
      },
    });
    asking.on("upgrade", ({ headers }, socket) => {
      socket.destroy();
      const name = headers["sec-websocket-protocol"];
      const picked = offered.find(([known]) => known === name);
      if (picked !== undefined) resolve(picked[1]);
      else reject(new Error(`the server picked the subprotocol ${JSON.stringify(name ?? "none")}; offered: ${offer}`));
    });
    asking.on("response", (answer) => {
      let body = "";
      answer.setEncoding("utf8");
      answer.on("data", (piece: string) => (body += piece));
      answer.on("end", () => {
        const words = `${answer.statusCode} ${answer.statusMessage} ${body.trim().slice(0, SHOWN_CHARACTERS)}`;
        reject(new Error(`no WebSocket: ${words.trimEnd()}; is the database published?`));
      });
      answer.on("error", reject);
    });
    asking.on("error", reject);
    asking.end();
  });
}
