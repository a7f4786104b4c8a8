import { describe, expect, it } from "vitest";
import { type NamespaceFacts, namespaceAdvice } from "./probe-backend.ts";

const FREE: NamespaceFacts = {
  isRoot: false,
  hasSysAdmin: false,
  appArmorRestricts: false,
  hasUserNamespaces: true,
  isContainer: false,
};
const HOSTS: [string, Partial<NamespaceFacts>, RegExp | undefined][] = [
  ["Ubuntu's AppArmor rule", { appArmorRestricts: true }, /AppArmor profile.*crun/s],
  ["the same rule, for root", { appArmorRestricts: true, isRoot: true, hasSysAdmin: true }, undefined],
  ["no user namespaces", { hasUserNamespaces: false }, /no user namespaces/],
  ["root without the capability", { isRoot: true }, /CAP_SYS_ADMIN/],
  ["root in a container", { isRoot: true, isContainer: true }, /--cap-add SYS_ADMIN.*--security-opt/s],
  ["a user in a container", { isContainer: true }, /^let the container/],
  ["nothing that is known", {}, undefined],
];

describe("the advice for a host on which no namespace can be made [L3-EXE-2]", () => {
  it.each(HOSTS)("depends on what was found: %s", (_, facts, expected) => {
    const advice = namespaceAdvice({ ...FREE, ...facts }).join("\n");
    if (expected) expect(advice).toMatch(expected);
    else expect(advice).toBe("");
    expect(advice).not.toMatch(/sysctl|apparmor_restrict/);
  });
});
