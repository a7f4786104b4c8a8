export { initKeys, type KeyChange, rotateKeys } from "./change-keys.ts";
export { configuredKeyFiles, configuredKeys, tokenRulesOf } from "./configured-tokens.ts";
export { freshKeys } from "./fresh-keys.ts";
export { ensureGrantsKey } from "./grants-key.ts";
export { type ListedKey, readPublicKeys } from "./jwks-file.ts";
export { keyFilesIn, keyFolder } from "./key-files.ts";
export { type OutsideKeys, tokenKeys } from "./outside-keys.ts";
export { currentKid, HOUSE_ISSUER, loadKeys, type SigningKeys } from "./signing-keys.ts";
