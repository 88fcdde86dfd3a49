// A number of Fibonacci, for servers before 0.23. A handler sees nothing outside itself.
routerAdd("GET", "/fibonacci", (context) => {
  const fibonacci = (n) => (n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2));
  const computed = fibonacci(Number(context.queryParam("n")));
  return context.json(200, { ok: String(computed) === context.queryParam("value") });
});
