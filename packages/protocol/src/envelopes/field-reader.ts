/** Fields: what a message has to look like, for its reader and in its description at once. */
export * from "./composed-fields.ts";
export { type Decoded, decode, described, exampled, type Field, fieldOf, named, simple } from "./field.ts";
export * from "./plain-fields.ts";
export * from "./text-fields.ts";
