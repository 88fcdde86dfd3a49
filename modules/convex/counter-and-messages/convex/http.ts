// The routes of the application: each runs an action and answers whether it went well.
import { httpActionGeneric, httpRouter, makeFunctionReference } from "convex/server";

const http = httpRouter();
for (const name of ["increment", "message"]) {
  const action = makeFunctionReference<"action">(`actions:${name}`);
  http.route({
    path: `/${name}`,
    method: "POST",
    handler: httpActionGeneric(async (context, request) => {
      try {
        const result: unknown = await context.runAction(action, await request.json());
        return answer(200, { success: true, result });
      } catch (error) {
        return answer(500, { success: false, error: error instanceof Error ? error.message : String(error) });
      }
    }),
  });
}

function answer(status: number, body: Record<string, unknown>): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });
}

export default http;
