import type { ErrorCode, JsonObject, JsonValue, Permissions } from "@sallyport/protocol";
import { type ArgumentTest, ofText } from "../../match/argument-test.ts";
import { type Hosts, hostsWithin, readHostPattern } from "../../match/hosts.ts";
import { ABSENT, lookUp, pointTo } from "../../match/json-pointer.ts";
import { folderWithin, readPath } from "../../match/paths.ts";
import type { Reading } from "../../match/reading.ts";
import { hostTest, insideTest, readHosts, readInside } from "../../match/text-tests.ts";
import { allAlike, anyOf, type Truth, UNSURE } from "../../match/truth.ts";
import type { PolicyRequest } from "../../ports/policy.ts";
import { judgeAt, readPointer } from "./argument-conditions.ts";
import { COST, type Condition, type Place, type ReadCondition } from "./condition.ts";

/**
 * What a call can touch: the arguments that name it, where the rule says which they are and the call has them, else
 * what the tool is permitted to touch at all. In doubt when only a part of that is meant.
 */
export const REACH_CONDITIONS = {
  paths: (value, place) =>
    readReach(value, place, { keys: ["inside", "base"], code: "E3203", compile: compilePaths }),
  hosts: (value, place) =>
    readReach(value, place, { keys: ["hostIn"], code: "E3204", compile: compileHosts }),
} satisfies Record<string, ReadCondition>;

interface Compiled {
  test: ArgumentTest;
  /** What the manifest permits. */
  permitted(permissions: Permissions): Truth;
  look(permissions: Permissions): string[];
}

interface Reach {
  keys: string[];
  code: ErrorCode;
  compile(given: JsonObject, path: string, reading: Reading): Compiled;
}

function readReach(value: JsonValue, place: Place, { keys, code, compile }: Reach): Condition[] {
  const { path, within, reading } = place;
  const wanted = reading.object(value, path, [...keys, "arguments"]);
  if (!wanted) return [];
  const compiled = compile(wanted, path, reading);
  const named = wanted.arguments;
  const pointers = named === undefined ? [] : readPointers(named, pointTo(path, "arguments"), reading);
  const argument = pointers[0]?.pointer;
  return [
    {
      path: within,
      cost: COST.reach,
      judge: (request) => judgeReach(request, pointers, compiled),
      look: (request) => seen(request, pointers, compiled),
      code,
      ...(argument !== undefined && { argument }),
    },
  ];
}

function judgeReach(request: PolicyRequest, pointers: readonly Pointer[], compiled: Compiled): Truth {
  const there = namedIn(request, pointers);
  if (there.length === 0) return compiled.permitted(request.permissions);
  return allAlike(there, ({ tokens }) => judgeAt(request.input, tokens, compiled.test));
}

function seen(request: PolicyRequest, pointers: readonly Pointer[], { look }: Compiled): JsonValue {
  const found = namedIn(request, pointers).map(({ tokens }) => lookUp(request.input, tokens));
  if (found.length === 0) return look(request.permissions);
  return found.filter((value) => typeof value !== "symbol");
}

function namedIn({ input }: PolicyRequest, pointers: readonly Pointer[]): Pointer[] {
  return pointers.filter(({ tokens }) => lookUp(input, tokens) !== ABSENT);
}

interface Pointer {
  pointer: string;
  tokens: string[];
}

function readPointers(value: JsonValue, path: string, reading: Reading): Pointer[] {
  return reading.list(value, path, (item, at) => {
    const pointer = reading.text(item, at);
    const tokens = pointer === undefined ? undefined : readPointer(pointer, at, reading);
    return pointer === undefined || tokens === undefined ? undefined : { pointer, tokens };
  });
}

function compilePaths(given: JsonObject, path: string, reading: Reading): Compiled {
  const inside = readInside(given, path, reading);
  const judge = (permitted: string): Truth => {
    const plain = readPath(permitted, inside.base);
    return plain === undefined ? UNSURE : anyOf(inside.folders, (folder) => folderWithin(plain, folder));
  };
  const look = ({ filesystem }: Permissions) => filesystem.map((permission) => permission.path);
  return {
    test: ofText(insideTest(inside, reading)),
    permitted: (permissions) => allAlike(look(permissions), judge),
    look,
  };
}

function compileHosts(given: JsonObject, path: string, reading: Reading): Compiled {
  const allowed = readHosts(given.hostIn, pointTo(path, "hostIn"), reading);
  const judge = (permission: Permissions["network"][number]): Truth => {
    const hosts = permittedHosts(permission);
    return hosts === undefined ? UNSURE : anyOf(allowed, (wanted) => hostsWithin(hosts, wanted));
  };
  return {
    test: ofText(hostTest(allowed, reading)),
    permitted: ({ network }) => allAlike(network, judge),
    look: ({ network }) => network.map(({ host, port }) => (port === undefined ? host : `${host}:${port}`)),
  };
}

/** The port beside a host goes before one in its text. */
function permittedHosts({ host, port }: Permissions["network"][number]): Hosts | undefined {
  const read = readHostPattern(host);
  return read && port !== undefined ? { ...read, port } : read;
}
