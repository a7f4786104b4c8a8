import { z } from "zod";
import { secretReference } from "./secret-schema.ts";

/** As the models' room has them; not imported, because reading a configuration should not load every provider. */
const KINDS = ["anthropic", "openai", "openai-compatible"] as const;

const positive = z.int().positive();
const WEB_ADDRESS = /^https?$/;
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const PROVIDER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const MODEL_REFERENCE = /^[A-Za-z0-9][A-Za-z0-9._-]*\/\S.*$/;

const model = z.strictObject({
  contextTokens: positive.optional().describe("How many tokens its context holds."),
  maxOutputTokens: positive.optional().describe("The longest answer it is asked for, in tokens."),
});

const provider = z.strictObject({
  kind: z
    .enum(KINDS)
    .describe(
      "How it is spoken to. openai-compatible: Chat Completions at your own address, as Ollama, vLLM and LM Studio offer them.",
    ),
  baseUrl: z
    .url({ protocol: WEB_ADDRESS })
    .optional()
    .describe("Where its API starts, such as `http://127.0.0.1:8000/v1`. Needed for openai-compatible."),
  apiKey: secretReference
    .optional()
    .describe(
      "Where its key is. Left out: ANTHROPIC_API_KEY or OPENAI_API_KEY for the kinds that have one, at their own address only.",
    ),
  headers: z
    .record(
      z.string().regex(HEADER_NAME).meta({ title: "a header name, such as X-Team" }),
      z.union([z.string().min(1), secretReference]),
    )
    .optional()
    .describe("Further headers of every request: a text, or where a secret is."),
  contextTokens: positive.optional().describe("Context of its models that are not listed in `models`."),
  models: z
    .record(z.string().min(1), model)
    .optional()
    .describe("What is known of single models, by the name the provider has for them."),
  idleSeconds: positive
    .max(290)
    .optional()
    .describe("How long it may send nothing at all. Left out: 240 seconds."),
});

const models = z
  .strictObject({
    default: z
      .string()
      .regex(MODEL_REFERENCE)
      .meta({ title: "provider/model, such as ollama/qwen3" })
      .optional()
      .describe("The model to use when none is named, as `provider/model`."),
    providers: z
      .record(
        z.string().regex(PROVIDER_NAME).meta({ title: "a name of letters, digits, ., _ or -" }),
        provider,
      )
      .default({})
      .describe("Who offers models, by name. anthropic, openai and ollama are there without being listed."),
  })
  .prefault({})
  .describe("Language models for conversations.");

/** The keys that say which language models there are. */
export const modelKeys = { models };
