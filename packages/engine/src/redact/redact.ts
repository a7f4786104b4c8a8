import type { JsonValue } from "@sallyport/protocol";
import { createRedactor, type Redactor } from "./redactor.ts";

const balanced = createRedactor();

/**
 * For what a person decides on: summaries, arguments and differences in a question. Hides secrets as the others do, but
 * nothing that could run (FR-APR-01). What it gives is for that person, and not for logs.
 */
export const forDecision: Redactor = createRedactor({ purpose: "decision" });

/**
 * The value as it may be kept: secret fields and text that looks like a secret replaced by markers, itself when there
 * was none. Total, and cheap enough for every input of every call.
 */
export const redact: (value: JsonValue) => JsonValue = balanced.redact;

/** The text with everything that looks like a secret taken out; itself when there was nothing. Total. */
export const redactText: (text: string) => string = balanced.redactText;

/** Anything at all as JSON that may be logged: cyclic, deep, exotic or hostile values too. Never throws. */
export const redactLog: (value: unknown) => JsonValue = balanced.redactLog;
