import type { Definition } from "../workload.ts";

const fibonacci = (n: number): number => (n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2));

export const definition: Definition = {
  collections: [],
  endpoints: [
    {
      path: "/fibonacci",
      method: "get",
      handler: ({ searchParams }) => {
        const computed = fibonacci(Number(searchParams.get("n")));
        return Response.json({ ok: String(computed) === searchParams.get("value") });
      },
    },
  ],
  prepare: async () => {},
};
