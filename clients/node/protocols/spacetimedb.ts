import { EXIT_ENDPOINT, Failure } from "../failure.ts";
import type { Fields } from "../fields.ts";
import { type Driver, hostAndPort, type Outcome, type Protocol } from "../protocol.ts";
import type { Transfer } from "../work.ts";
import { keepStandardOutput, type Login } from "./spacetimedb/login.ts";
import { pickedVersion, type Version } from "./spacetimedb/negotiation.ts";

const HEADER_WORD = /^[!-~]+$/;
const REDUCER = /^[a-z_]{1,64}$/;

export const protocol: Protocol = {
  keys: ["host", "port", "database", "token", "newest", "coalesce", "confirmed", "reducer", "amount"],
  target(endpoint) {
    const { address } = hostAndPort(endpoint);
    const login = readLogin(endpoint, `http://${address}`);
    // The SDK of 2.x offers v3 and v2 together, and in v3 it coalesces; neither can be told otherwise.
    const newest = endpoint.has("newest") ? endpoint.choice("newest", ["v1", "v3"]) : "v3";
    if (endpoint.has("coalesce") && !endpoint.flag("coalesce")) throw endpoint.refused("coalesce", "true");
    keepStandardOutput();
    const name = `spacetimedb at ${address}`;
    let spoken: Version | undefined;
    let asked: Promise<Version> | undefined;
    const ask = () => (asked ??= pickedVersion(login, newest).then((version) => (spoken = version)));
    return {
      name,
      agreed: () => ({
        protocol: spoken ?? "none",
        "calls in a payload": spoken === "v3" ? "all that are ready" : "one",
        confirmed: String(login.confirmed),
      }),
      createDriver: (onLost) => new SpacetimeDriver(name, login, ask, onLost),
    };
  },
};

function readLogin(endpoint: Fields, uri: string): Login {
  const word = (key: string) => endpoint.text(key, "printable ASCII without spaces", (value) => HEADER_WORD.test(value));
  const named = (value: string) => REDUCER.test(value);
  return {
    uri,
    database: word("database"),
    token: word("token"),
    confirmed: endpoint.has("confirmed") && endpoint.flag("confirmed"),
    reducer: endpoint.has("reducer") ? endpoint.text("reducer", "1 to 64 of a to z and _", named) : "transfer",
    amount: endpoint.has("amount") ? endpoint.choice("amount", ["u32", "i64"]) : "u32",
  };
}

/** A connection by the SDK of the version that the server picks; the other SDK is not loaded. */
class SpacetimeDriver implements Driver {
  readonly #name: string;
  readonly #login: Login;
  readonly #ask: () => Promise<Version>;
  readonly #onLost: (error: Error) => void;
  #driver: Driver | undefined;

  constructor(name: string, login: Login, ask: () => Promise<Version>, onLost: (error: Error) => void) {
    this.#name = name;
    this.#login = login;
    this.#ask = ask;
    this.#onLost = onLost;
  }

  async open(): Promise<void> {
    this.#driver = (await this.#ask()) === "v1" ? await this.#driverOfV1() : await this.#driverOfV2();
    await this.#driver.open();
  }

  async #driverOfV1(): Promise<Driver> {
    const { confirmed, reducer, amount } = this.#login;
    if (confirmed || reducer !== "transfer" || amount !== "u32") {
      const cannot = "cannot ask for confirmed reads, another reducer than transfer, or an amount of i64";
      throw new Failure(EXIT_ENDPOINT, `${this.#name}: the SDK of v1, which the server picked, ${cannot}`);
    }
    const { DriverOfV1 } = await import("./spacetimedb/v1.ts");
    return new DriverOfV1(this.#login, this.#onLost);
  }

  async #driverOfV2(): Promise<Driver> {
    const { DriverOfV2 } = await import("./spacetimedb/v2.ts");
    return new DriverOfV2(this.#login, this.#onLost);
  }

  send(transfer: Transfer, onSentAgain: () => void): Promise<Outcome> {
    return this.#driver!.send(transfer, onSentAgain);
  }

  close(): void {
    this.#driver?.close();
  }
}
