// A number of Fibonacci, for servers from 0.23 on. A handler sees nothing outside itself.
routerAdd("GET", "/fibonacci", (event) => {
  const fibonacci = (n) => (n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2));
  const asked = event.request.url.query();
  const computed = fibonacci(Number(asked.get("n")));
  return event.json(200, { ok: String(computed) === asked.get("value") });
});
