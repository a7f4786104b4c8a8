import { isFailure } from "@sallyport/protocol";
import { afterEach, describe, expect, it, vi } from "vitest";
import { QUESTION } from "./fixtures/ask.ts";
import { type OpenModelOptions, openModel } from "./open-model.ts";
import type { ProviderSettings } from "./provider-settings.ts";

const KEY = "key-of-the-house";

function open(reference: string, given: Partial<OpenModelOptions> = {}) {
  return openModel(reference, { providers: {}, environment: {}, secret: () => undefined, ...given });
}

function openLab(settings: Partial<ProviderSettings>, secret: OpenModelOptions["secret"] = () => KEY) {
  const lab = { kind: "openai-compatible", baseUrl: "http://lab.example/v1", ...settings } as const;
  return open("lab/m", { providers: { lab }, secret });
}

/** The headers and the address of the request a model makes. */
async function sent(given: Partial<OpenModelOptions>, reference: string) {
  const seen: { url: string; headers: Headers }[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    seen.push({ url: String(input), headers: new Headers(init?.headers) });
    return new Response("{}", { status: 418 });
  };
  const model = open(reference, { ...given, fetch });
  if (isFailure(model)) throw new Error(model.message);
  await expect(model.doStream(QUESTION)).rejects.toThrow();
  const [request] = seen;
  if (!request) throw new Error("nothing was sent");
  return request;
}

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("opening a model", () => {
  it.each([
    ["anthropic/claude-x", "ANTHROPIC_API_KEY", "https://api.anthropic.com/v1/messages", "x-api-key", KEY],
    [
      "openai/gpt-x",
      "OPENAI_API_KEY",
      "https://api.openai.com/v1/chat/completions",
      "authorization",
      `Bearer ${KEY}`,
    ],
  ])("takes %s's key from the given environment", async (reference, variable, url, header, value) => {
    const request = await sent({ environment: { [variable]: ` ${KEY}\n` } }, reference);
    expect(request.url).toBe(url);
    expect(request.headers.get(header)).toBe(value);
  });

  it("never looks into the process's own environment", async () => {
    vi.stubEnv("ANTHROPIC_API_KEY", "key-of-the-process");
    vi.stubEnv("OPENAI_BASE_URL", "http://elsewhere.example");
    expect(open("anthropic/claude-x")).toMatchObject({
      code: "E3919",
      message: "There is no key for provider anthropic.",
      advice: "Set ANTHROPIC_API_KEY, or models.providers.anthropic.apiKey in the configuration.",
    });
    const { url } = await sent({ environment: { OPENAI_API_KEY: KEY } }, "openai/gpt-x");
    expect(url).toBe("https://api.openai.com/v1/chat/completions");
  });

  it("asks Ollama without a key and without configuration", async () => {
    const request = await sent({ environment: { OPENAI_API_KEY: KEY } }, "ollama/qwen3:8b");
    expect(request.url).toBe("http://127.0.0.1:11434/v1/chat/completions");
    expect(request.headers.has("authorization")).toBe(false);
  });

  it.each(["anthropic", "openai"] as const)(
    "does not send the usual key of %s to another address",
    async (kind) => {
      const environment = { ANTHROPIC_API_KEY: KEY, OPENAI_API_KEY: KEY };
      const providers = { relay: { kind, baseUrl: "http://relay.example/v1/" } };
      const { url, headers } = await sent({ environment, providers }, "relay/m");
      expect(url).toMatch(/^http:\/\/relay\.example\/v1\/(messages|chat\/completions)$/);
      expect([headers.has("x-api-key"), headers.has("authorization")]).toEqual([false, false]);
    },
  );

  it("sends configured headers, secret or not", async () => {
    const headers = { "x-team": "red", "api-key": { env: "GATE" } };
    const providers = {
      lab: { kind: "openai-compatible", baseUrl: "http://lab.example/v1", headers } as const,
    };
    const request = await sent({ providers, secret: () => "gate-key" }, "lab/m");
    expect([request.headers.get("x-team"), request.headers.get("api-key")]).toEqual(["red", "gate-key"]);
  });

  it("says which secret is not set, and where", () => {
    expect(openLab({ apiKey: { env: "LAB_KEY" } }, () => undefined)).toMatchObject({
      code: "E3919",
      message: "The secret of models.providers.lab.apiKey is not set.",
      advice: "Set the variable LAB_KEY.",
    });
  });

  it.each([
    ["a key", { apiKey: { env: "LAB_KEY" } }],
    ["a header", { headers: { "x-key": { env: "LAB_KEY" } } }],
  ])("refuses %s that no header can carry, and does not show it", (_what, settings) => {
    const answer = openLab(settings, () => "top\nsecret");
    expect(answer).toMatchObject({ code: "E3919" });
    expect(JSON.stringify(answer)).not.toMatch(/top|secret"/);
  });

  it.each([
    undefined,
    "ftp://lab.example",
    "lab.example",
    "http://u:p@lab.example/v1",
    "http://lab.example/v1?key=k",
  ])("refuses the address %s", (baseUrl) => {
    const answer = openLab({ baseUrl });
    expect(answer).toMatchObject({
      code: "E3919",
      advice: expect.stringContaining("models.providers.lab.baseUrl"),
    });
    expect(JSON.stringify(answer)).not.toContain("u:p@");
  });
});
