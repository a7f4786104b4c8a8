import { SallyportError } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CapabilityGrant, GrantRecord } from "../../ports/grants.ts";
import { SIGNER, sampleGrant } from "./fixtures/sample-grants.ts";
import { hmacSigner, isGenuine, signGrant } from "./grant-validity.ts";

const text = fc.string({ unit: "grapheme", maxLength: 20 });
const anyGrant: fc.Arbitrary<CapabilityGrant> = fc
  .record({
    grantId: text,
    tenant: text,
    capabilityId: text,
    grantee: fc.record({ type: fc.constantFrom("TOOL", "USER", "ROLE"), id: text }),
    grantor: text,
    scope: fc.record({
      resources: fc.array(text),
      actions: fc.array(text),
      conditions: fc.array(fc.record({ type: text, expression: text })),
    }),
    constraints: fc.array(fc.record({ type: text, value: fc.integer() })),
    delegatable: fc.boolean(),
    delegationDepth: fc.integer({ min: 0, max: 3 }),
    parentGrantId: text,
    issuedAt: fc.nat(),
    expiresAt: fc.nat(),
    uses: fc.nat(),
    revision: fc.nat(),
  })
  .map((fields) => signGrant({ kind: "capability", ...fields }, SIGNER));

const UNSIGNED = ["signature", "uses", "revision", "lastUsedAt", "revokedAt", "revokedBy", "revokedBecause"];

function withField(record: GrantRecord, field: string, value: unknown): GrantRecord {
  return { ...record, [field]: value };
}

/** Something of another value, whatever it was. */
function changed(value: unknown): unknown {
  if (typeof value === "string") return `${value}x`;
  if (typeof value === "number") return value + 1;
  if (typeof value === "boolean") return !value;
  if (Array.isArray(value)) return [...value, "x"];
  return { ...(value as object), x: 1 };
}

describe("signatures of grants", () => {
  it("a grant is genuine as it was signed, and by its own key alone [R3-2]", () => {
    const grant = sampleGrant();
    expect(grant.signature).toMatch(/^hmac-sha256:[0-9a-f]{8}:[0-9a-f]{64}$/);
    expect(isGenuine(grant, SIGNER)).toBe(true);
    const other = hmacSigner(Buffer.alloc(32, 8));
    expect(isGenuine(grant, other)).toBe(false);
    expect(other.sign("a").split(":")[1]).not.toBe(SIGNER.sign("a").split(":")[1]);
  });

  it("changing, adding or removing any signed field of any grant breaks it [R3-2]", () => {
    fc.assert(
      fc.property(anyGrant, (grant) => {
        expect(isGenuine(grant, SIGNER)).toBe(true);
        for (const [field, value] of Object.entries(grant)) {
          if (UNSIGNED.includes(field)) continue;
          expect(isGenuine(withField(grant, field, changed(value)), SIGNER), field).toBe(false);
          const { [field as "grantId"]: _removed, ...rest } = grant;
          expect(isGenuine(rest as GrantRecord, SIGNER), `without ${field}`).toBe(false);
        }
        expect(isGenuine(withField(grant, "extra", 1), SIGNER)).toBe(false);
      }),
    );
  });

  it("what changes in the life of a grant is not part of the seal", () => {
    const grant = { ...sampleGrant(), uses: 9, lastUsedAt: 1, revision: 4, revokedAt: 2, revokedBy: "olga" };
    expect(isGenuine(grant, SIGNER)).toBe(true);
    expect(isGenuine({ ...grant, revokedBecause: "leaked" }, SIGNER)).toBe(true);
  });

  it("a record or signature that is no such thing is not genuine, and nothing throws", () => {
    const grant = sampleGrant();
    expect(isGenuine({ ...grant, signature: "" }, SIGNER)).toBe(false);
    expect(isGenuine({ ...grant, signature: `${grant.signature}0` }, SIGNER)).toBe(false);
    expect(isGenuine(withField(grant, "signature", undefined), SIGNER)).toBe(false);
    expect(isGenuine(withField(grant, "tenant", "\ud800"), SIGNER)).toBe(false);
  });

  it("refuses a short key: there is no default one (E3227)", () => {
    expect(() => hmacSigner(Buffer.alloc(31))).toThrow(SallyportError);
    expect(() => hmacSigner(Buffer.alloc(0))).toThrow("E3227");
  });

  it("keeps its own copy of the key", () => {
    const key = Buffer.alloc(32, 1);
    const signer = hmacSigner(key);
    const before = signer.sign("text");
    key.fill(0);
    expect(signer.sign("text")).toBe(before);
  });
});
