import { EXIT_ENDPOINT, Failure } from "../failure.ts";
import { type Driver, hostAndPort, namesByKind, type Outcome, type Protocol } from "../protocol.ts";
import type { Operation } from "../workload.ts";
import { createCalls } from "./spacetimedb/calls.ts";
import { keepStandardOutput, type Login } from "./spacetimedb/login.ts";
import { pickedVersion, type Version } from "./spacetimedb/negotiation.ts";

export const protocol: Protocol = {
  target(endpoint, { workload }) {
    const { address } = hostAndPort(endpoint);
    const reducers = namesByKind(endpoint, "reducer", "reducers", workload);
    const amount = endpoint.has("amount") ? endpoint.choice("amount", ["u32", "i64"]) : "u32";
    const login: Login = {
      uri: `http://${address}`,
      database: endpoint.text("database"),
      token: endpoint.text("token"),
      confirmed: endpoint.has("confirmed") && endpoint.flag("confirmed"),
      calls: createCalls(reducers, workload, amount),
    };
    // The SDK of 2.x offers v3 and v2 together, and in v3 it coalesces; neither can be told otherwise. So v2 is spoken
    // with a server that knows no newer one.
    const newest = endpoint.has("newest") ? endpoint.choice("newest", ["v1", "v2", "v3"]) : "v3";
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
    if (this.#login.confirmed) {
      const cannot = "cannot ask for confirmed reads";
      throw new Failure(EXIT_ENDPOINT, `${this.#name}: the SDK of v1, which the server picked, ${cannot}`);
    }
    const { DriverOfV1 } = await import("./spacetimedb/v1.ts");
    return new DriverOfV1(this.#login, this.#onLost);
  }

  async #driverOfV2(): Promise<Driver> {
    const { DriverOfV2 } = await import("./spacetimedb/v2.ts");
    return new DriverOfV2(this.#login, this.#onLost);
  }

  send(operation: Operation, onSentAgain: () => void): Promise<Outcome> {
    return this.#driver!.send(operation, onSentAgain);
  }

  close(): void {
    this.#driver?.close();
  }
}
