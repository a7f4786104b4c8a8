import fastify from "fastify";

/*
 * The reference: Fastify as it comes. It reads the JSON that it is sent and writes an answer of the same size as
 * Sallyport's, given as its only argument.
 */

const [answer = "{}"] = process.argv.slice(2);
const sample: Record<string, unknown> = JSON.parse(answer);
const app = fastify();
app.post<{ Body: { parameters: { a: number; b: number } } }>("/echo", ({ body: { parameters } }) => ({
  ...sample,
  result: { result: parameters.a + parameters.b },
}));
const url = await app.listen({ host: "127.0.0.1", port: 0 });
console.log(JSON.stringify({ url: `${url}/echo` }));
process.once("SIGTERM", () => void app.close());
